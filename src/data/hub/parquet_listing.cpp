#include "data/hub/parquet_listing.hpp"

#include "base/error.hpp"
#include "data/hub/hub_names.hpp"
#include "data/hub/url.hpp"

namespace owlet {

namespace {

constexpr std::string_view kPartialPrefix = "partial-";

/// Revision and path in a file's address …/resolve/REVISION/PATH; false where it has another form.
bool split_resolve_url(const std::string& url, ParquetFile& file) {
  constexpr std::string_view kMark = "/resolve/";
  const size_t mark = url.find(kMark);
  if (mark == std::string::npos) return false;
  const std::string_view rest = std::string_view(url).substr(mark + kMark.size());
  const size_t slash = rest.find('/');
  if (slash == std::string_view::npos) return false;
  const auto revision = percent_decode(rest.substr(0, slash)), path = percent_decode(rest.substr(slash + 1));
  if (!revision || !path) return false;
  file.revision = *revision;
  file.path = *path;
  return true;
}

std::vector<std::string> names_of(const Json& document, std::string_view key, const std::string& source) {
  std::vector<std::string> names;
  const Json* entries = find_json_member(document, key, source);
  if (entries == nullptr || !entries->is_array()) return names;
  for (const Json& entry : *entries) {
    if (!entry.is_object()) continue;
    const auto config = json_get_or<std::string>(entry, "config", "", source);
    const auto split = json_get_or<std::string>(entry, "split", "", source);
    names.push_back(split.empty() ? config : config + "/" + split);
  }
  return names;
}

/// Removes "partial-" from a split's folder name; true if it was there.
bool strip_partial(std::string& split) {
  if (!split.starts_with(kPartialPrefix)) return false;
  split.erase(0, kPartialPrefix.size());
  return true;
}

}  // namespace

ParquetListing parse_parquet_listing(const Json& document, const std::string& source) {
  ParquetListing listing;
  listing.is_partial = json_get_or<bool>(document, "partial", false, source);
  listing.pending = names_of(document, "pending", source);
  listing.failed = names_of(document, "failed", source);
  const Json* entries = find_json_member(document, "parquet_files", source);
  check(entries != nullptr && entries->is_array(), ErrorKind::corrupt_file, "{}: 'parquet_files' is no array", source);
  for (const Json& entry : *entries) {
    ParquetFile file;
    file.config = json_get<std::string>(entry, "config", source);
    file.split = json_get<std::string>(entry, "split", source);
    file.bytes = json_get_or<uint64_t>(entry, "size", 0, source);
    const auto name = json_get<std::string>(entry, "filename", source);
    if (!split_resolve_url(json_get_or<std::string>(entry, "url", "", source), file)) {
      file.revision = kParquetBranch;
      file.path = file.config + "/" + file.split + "/" + name;
    }
    check_file_path(file.path, source);
    check(is_safe_path(file.revision), ErrorKind::corrupt_file, "{}: '{}' is no revision", source, file.revision);
    if (strip_partial(file.split)) listing.is_partial = true;
    listing.files.push_back(std::move(file));
  }
  return listing;
}

ParquetListing listing_of_branch(const std::vector<RepoFile>& files, const std::string& commit) {
  ParquetListing listing;
  for (const RepoFile& entry : files) {
    const size_t first = entry.path.find('/'), last = entry.path.rfind('/');
    if (first == std::string::npos || first == last || !entry.path.ends_with(".parquet")) continue;
    ParquetFile file;
    file.config = entry.path.substr(0, first);
    file.split = entry.path.substr(first + 1, last - first - 1);
    file.revision = commit;
    file.path = entry.path;
    file.bytes = entry.bytes;
    if (strip_partial(file.split)) listing.is_partial = true;
    listing.files.push_back(std::move(file));
  }
  return listing;
}

ParquetListing ask_parquet_listing(HubClient& hub, const std::string& repo) {
  check_repo_name(repo);
  const std::string url =
      fmt::format("{}/parquet?dataset={}", hub.settings().datasets_server, percent_encode(repo, false));
  return parse_parquet_listing(hub.requests().get_json(url, {"the list of parquet files of " + repo, repo, "main"}),
                               url);
}

}  // namespace owlet
