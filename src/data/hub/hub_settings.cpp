#include "data/hub/hub_settings.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "base/atomic_file.hpp"
#include "base/error.hpp"
#include "data/hub/url.hpp"

namespace owlet {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kDefaultEndpoint = "https://huggingface.co";
constexpr uint64_t kMaxTokenBytes = 64 * 1024;

/// huggingface_hub's reading of a switch: 1, on, yes, true in any case.
bool is_true(const std::optional<std::string>& value) {
  if (!value) return false;
  std::string upper = *value;
  for (char& c : upper) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return upper == "1" || upper == "ON" || upper == "YES" || upper == "TRUE";
}

/// `text` with a leading ~ and $NAME or ${NAME} replaced; unknown names stay as they are.
fs::path expand_path(const std::string& text, const EnvironmentLookup& lookup) {
  std::string expanded;
  size_t i = 0;
  if (text == "~" || text.starts_with("~/")) {
    expanded = lookup("HOME").value_or("~");
    i = 1;
  }
  while (i < text.size()) {
    const bool is_braced = text.compare(i, 2, "${") == 0;
    size_t begin = i + (is_braced ? 2 : 1), end = begin;
    while (text[i] == '$' && end < text.size() &&
           (std::isalnum(static_cast<unsigned char>(text[end])) != 0 || text[end] == '_'))
      ++end;
    const bool is_closed = !is_braced || (end < text.size() && text[end] == '}');
    const auto value =
        text[i] == '$' && end > begin && is_closed ? lookup(text.substr(begin, end - begin).c_str()) : std::nullopt;
    if (value) {
      expanded += *value;
      i = end + (is_braced ? 1 : 0);
    } else {
      expanded += text[i++];
    }
  }
  return expanded;
}

double read_seconds(const char* name, double fallback, const EnvironmentLookup& lookup) {
  const auto text = lookup(name);
  if (!text) return fallback;
  char* end = nullptr;
  const double seconds = std::strtod(text->c_str(), &end);
  check(end != text->c_str() && *end == '\0' && std::isfinite(seconds) && seconds > 0, ErrorKind::invalid_argument,
        "{} is '{}', expected seconds above 0", name, *text);
  return seconds;
}

/// Blanks around and line breaks are accidents of copying; anything else below a blank would end up in a header.
std::string clean_token(std::string token, std::string_view origin) {
  std::erase_if(token, [](char c) { return c == '\n' || c == '\r'; });
  const size_t first = token.find_first_not_of(" \t");
  if (first == std::string::npos) return {};
  token = token.substr(first, token.find_last_not_of(" \t") - first + 1);
  const bool is_printable = std::ranges::all_of(token, [](char c) { return c > 0x20 && c < 0x7f; });
  check(is_printable, ErrorKind::invalid_argument, "the token of {} holds characters that no token has", origin);
  return token;
}

std::string read_token(const HubSettings& settings, const EnvironmentLookup& lookup) {
  if (is_true(lookup("HF_HUB_DISABLE_IMPLICIT_TOKEN"))) return {};
  for (const char* name : {"HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"}) {
    if (const auto value = lookup(name)) {
      if (std::string token = clean_token(*value, name); !token.empty()) return token;
    }
  }
  std::error_code error;
  if (!fs::is_regular_file(settings.token_file, error)) return {};
  return clean_token(read_file(settings.token_file, kMaxTokenBytes), settings.token_file.string());
}

std::string without_trailing_slashes(std::string url) {
  while (url.ends_with('/')) url.pop_back();
  origin_of(url);  // refuses what is no address
  return url;
}

}  // namespace

std::optional<std::string> process_environment(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr || *value == '\0') return std::nullopt;
  return value;
}

HubSettings read_hub_settings(const std::string& endpoint, const EnvironmentLookup& lookup) {
  HubSettings settings;
  settings.endpoint = without_trailing_slashes(
      endpoint.empty() ? lookup("HF_ENDPOINT").value_or(std::string(kDefaultEndpoint)) : endpoint);
  if (const auto server = lookup("HF_DATASETS_SERVER")) {
    settings.datasets_server = without_trailing_slashes(*server);
  } else if (settings.endpoint != kDefaultEndpoint) {
    settings.datasets_server = settings.endpoint;
  }
  const auto path_or = [&](const char* name, const fs::path& fallback) {
    const auto value = lookup(name);
    return value ? expand_path(*value, lookup) : fallback;
  };
  const fs::path home = path_or("HF_HOME", path_or("XDG_CACHE_HOME", expand_path("~/.cache", lookup)) / "huggingface");
  settings.cache = path_or("HF_HUB_CACHE", path_or("HUGGINGFACE_HUB_CACHE", home / "hub"));
  settings.token_file = path_or("HF_TOKEN_PATH", home / "token");
  settings.token = read_token(settings, lookup);
  settings.is_offline = is_true(lookup("HF_HUB_OFFLINE")) || is_true(lookup("TRANSFORMERS_OFFLINE"));
  settings.uses_symlinks = !is_true(lookup("HF_HUB_DISABLE_SYMLINKS"));
  settings.shows_progress = !is_true(lookup("HF_HUB_DISABLE_PROGRESS_BARS"));
  settings.metadata_timeout_seconds = read_seconds("HF_HUB_ETAG_TIMEOUT", 10, lookup);
  settings.download_timeout_seconds = read_seconds("HF_HUB_DOWNLOAD_TIMEOUT", 10, lookup);
  return settings;
}

}  // namespace owlet
