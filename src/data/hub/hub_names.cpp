#include "data/hub/hub_names.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace owlet {

namespace {

constexpr size_t kMaxRepoNameChars = 96, kMaxTokenChars = 128, kMaxPathBytes = 2048, kMaxPartBytes = 255;

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.';
}

bool is_repo_part(std::string_view part) {
  constexpr std::string_view kNotAtEnds = "-.";
  return !part.empty() && std::ranges::all_of(part, is_word) &&
         kNotAtEnds.find(part.front()) == std::string_view::npos &&
         kNotAtEnds.find(part.back()) == std::string_view::npos;
}

}  // namespace

void check_repo_name(std::string_view repo) {
  const size_t slash = repo.find('/');
  const bool are_parts_good = slash == std::string_view::npos
                                  ? is_repo_part(repo)
                                  : is_repo_part(repo.substr(0, slash)) && is_repo_part(repo.substr(slash + 1));
  const bool is_good = are_parts_good && repo.size() <= kMaxRepoNameChars &&
                       repo.find("--") == std::string_view::npos && repo.find("..") == std::string_view::npos;
  if (!is_good) {
    throw Error(ErrorKind::invalid_argument, fmt::format("'{}' is no name of a set on the Hub", repo),
                "names look like org/name: letters, digits, '-', '_' and '.'");
  }
}

bool is_safe_path(std::string_view path) {
  if (path.empty() || path.size() > kMaxPathBytes) return false;
  for (const char c : path) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f || c == '\\') return false;
  }
  size_t begin = 0;
  while (true) {
    const size_t end = std::min(path.find('/', begin), path.size());
    const std::string_view part = path.substr(begin, end - begin);
    if (part.empty() || part == "." || part == ".." || part.size() > kMaxPartBytes) return false;
    if (end == path.size()) return true;
    begin = end + 1;
  }
}

void check_file_path(std::string_view path, std::string_view origin) {
  check(is_safe_path(path), ErrorKind::corrupt_file, "{} names a file '{}', which would not stay in its folder", origin,
        path);
}

void check_revision(std::string_view revision) {
  check(is_safe_path(revision), ErrorKind::invalid_argument, "'{}' is no revision (a branch, tag or commit)", revision);
}

bool is_commit(std::string_view revision) {
  return revision.size() == 40 && revision.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

bool is_plain_token(std::string_view text) {
  return !text.empty() && text.size() <= kMaxTokenChars && text.front() != '.' && std::ranges::all_of(text, is_word);
}

std::string normalize_etag(std::string_view etag) {
  if (etag.starts_with("W/")) etag.remove_prefix(2);
  while (etag.starts_with('"')) etag.remove_prefix(1);
  while (etag.ends_with('"')) etag.remove_suffix(1);
  return std::string(etag);
}

bool matches_pattern(std::string_view path, std::string_view pattern) {
  if (pattern.ends_with('/')) return path.starts_with(pattern);
  size_t p = 0, t = 0, star = std::string_view::npos, star_text = 0;
  while (t < path.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      star_text = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == path[t])) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++star_text;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

}  // namespace owlet
