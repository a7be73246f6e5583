#include "data/hub/url.hpp"

#include <curl/curl.h>

#include <algorithm>
#include <memory>

#include "base/error.hpp"

namespace owlet {

namespace {

struct UrlCloser {
  void operator()(CURLU* url) const { curl_url_cleanup(url); }
};
using UrlHandle = std::unique_ptr<CURLU, UrlCloser>;

constexpr std::string_view kUnreserved = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";

/// The parsed address; nothing where it is none.
UrlHandle parse_url(const std::string& url) {
  UrlHandle handle(curl_url());
  if (handle == nullptr || curl_url_set(handle.get(), CURLUPART_URL, url.c_str(), 0) != CURLUE_OK) return nullptr;
  return handle;
}

std::string part_of(const UrlHandle& url, CURLUPart part, unsigned flags = 0) {
  char* text = nullptr;
  if (curl_url_get(url.get(), part, &text, flags) != CURLUE_OK) return {};
  std::string copy(text);
  curl_free(text);
  return copy;
}

std::string lower_case(std::string text) {
  for (char& c : text) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return text;
}

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

std::string percent_encode(std::string_view text, bool keeps_slashes) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string encoded;
  for (const char c : text) {
    if (kUnreserved.find(c) != std::string_view::npos || (keeps_slashes && c == '/')) {
      encoded += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      encoded += {'%', kDigits[byte >> 4], kDigits[byte & 15]};
    }
  }
  return encoded;
}

std::optional<std::string> percent_decode(std::string_view text) {
  std::string decoded;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      decoded += text[i];
      continue;
    }
    if (i + 2 >= text.size()) return std::nullopt;
    const int high = hex_value(text[i + 1]), low = hex_value(text[i + 2]);
    if (high < 0 || low < 0) return std::nullopt;
    decoded += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return decoded;
}

std::string origin_of(const std::string& url) {
  const UrlHandle handle = parse_url(url);
  const std::string scheme = handle ? lower_case(part_of(handle, CURLUPART_SCHEME)) : "";
  const std::string host = handle ? lower_case(part_of(handle, CURLUPART_HOST)) : "";
  if ((scheme != "http" && scheme != "https") || host.empty() || !part_of(handle, CURLUPART_USER).empty()) {
    throw Error(ErrorKind::invalid_argument, fmt::format("'{}' is no http or https address", url),
                "write it as https://huggingface.co");
  }
  return scheme + "://" + host + ":" + part_of(handle, CURLUPART_PORT, CURLU_DEFAULT_PORT);
}

bool is_loopback(const std::string& url) {
  const UrlHandle handle = parse_url(url);
  const std::string host = handle ? lower_case(part_of(handle, CURLUPART_HOST)) : "";
  return host == "localhost" || host == "[::1]" || host.starts_with("127.");
}

std::string redirect_target(const std::string& url, const std::string& location) {
  const UrlHandle handle = parse_url(url);
  const bool has_control = std::ranges::any_of(location, [](char c) { return static_cast<unsigned char>(c) <= 0x20; });
  check(
      handle != nullptr && !has_control && curl_url_set(handle.get(), CURLUPART_URL, location.c_str(), 0) == CURLUE_OK,
      ErrorKind::io, "{} sends us on to '{}', which is no address", url, location);
  const std::string scheme = lower_case(part_of(handle, CURLUPART_SCHEME));
  check(scheme == "https" || scheme == "http", ErrorKind::io, "{} sends us on to a '{}' address: '{}'", url, scheme,
        location);
  check(scheme == "https" || url.starts_with("http:"), ErrorKind::io,
        "{} sends us on from https to the unprotected '{}'", url, location);
  return part_of(handle, CURLUPART_URL);
}

}  // namespace owlet
