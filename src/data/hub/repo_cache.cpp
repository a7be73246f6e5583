#include "data/hub/repo_cache.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/atomic_file.hpp"
#include "base/error.hpp"
#include "base/json.hpp"
#include "data/hub/file_lock.hpp"
#include "data/hub/hub_names.hpp"

namespace owlet {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kCacheTag =
    "Signature: 8a477f597d28d172789f06886806bc55\n"
    "# This file tags the folder as a cache of the Hugging Face Hub: backups may leave it out.\n"
    "# See https://bford.info/cachedir/\n";
constexpr uint64_t kMaxTreeBytes = uint64_t{1} << 30;
constexpr uint64_t kMaxNoteBytes = 8192;
constexpr int kTreeFormat = 1;

std::string folder_name_of(std::string repo) {
  const size_t slash = repo.find('/');
  if (slash != std::string::npos) repo.replace(slash, 1, "--");
  return "datasets--" + repo;
}

void make_folder(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) {
    throw Error(ErrorKind::io, fmt::format("cannot create folder '{}': {}", path.string(), error.message()),
                "HF_HUB_CACHE or HF_HOME names another place for the cache");
  }
}

RepoFile tree_entry(const std::string& path, const Json& entry, std::string_view source) {
  check_file_path(path, source);
  RepoFile file;
  file.path = path;
  file.bytes = json_get<uint64_t>(entry, "size", source);
  file.git_sha1 = json_get<std::string>(entry, "blob_id", source);
  file.sha256 = json_get_or<std::string>(entry, "lfs_sha256", "", source);
  if (!file.sha256.empty()) file.bytes = json_get_or<uint64_t>(entry, "lfs_size", file.bytes, source);
  return file;
}

}  // namespace

RepoCache::RepoCache(fs::path cache, const std::string& repo)
    : cache_(std::move(cache)), folder_name_(folder_name_of(repo)), folder_(cache_ / folder_name_) {}

fs::path RepoCache::lock(const std::string& etag) const { return cache_ / ".locks" / folder_name_ / (etag + ".lock"); }

fs::path RepoCache::snapshot(const std::string& commit, const std::string& path) const {
  return folder_ / "snapshots" / commit / path;
}

bool RepoCache::has(const std::string& commit, const std::string& path) const {
  std::error_code error;
  return fs::is_regular_file(snapshot(commit, path), error);
}

bool RepoCache::is_known_missing(const std::string& commit, const std::string& path) const {
  std::error_code error;
  return fs::is_regular_file(folder_ / ".no_exist" / commit / path, error);
}

std::optional<std::string> RepoCache::read_ref(const std::string& revision) const {
  const fs::path file = folder_ / "refs" / revision;
  std::error_code error;
  if (!fs::is_regular_file(file, error)) return std::nullopt;
  std::string commit = read_file(file, 4096);
  while (!commit.empty() && (commit.back() == '\n' || commit.back() == ' ')) commit.pop_back();
  return is_plain_token(commit) ? std::optional(commit) : std::nullopt;
}

void RepoCache::write_ref(const std::string& revision, const std::string& commit) const {
  if (revision == commit || read_ref(revision) == commit) return;
  try {
    const fs::path file = folder_ / "refs" / revision;
    make_folder(file.parent_path());
    write_file_atomically(file, commit);
  } catch (const Error&) {  // a cache that others own may be read only
  }
}

void RepoCache::mark_missing(const std::string& commit, const std::string& path) const {
  const fs::path file = folder_ / ".no_exist" / commit / path;
  try {
    make_folder(file.parent_path());
    if (!fs::exists(file)) write_file_atomically(file, "");
  } catch (const Error&) {
  }
}

fs::path RepoCache::tree_file(const std::string& commit, const std::string& below) const {
  std::string name = commit;
  if (!below.empty()) name += "--" + below;
  std::ranges::replace(name, '/', '~');
  return folder_ / "trees" / (name + ".json");
}

std::optional<std::vector<RepoFile>> RepoCache::read_tree(const std::string& commit, const std::string& below) const {
  const fs::path file = tree_file(commit, below);
  std::error_code error;
  if (!fs::is_regular_file(file, error)) return std::nullopt;
  try {
    const std::string source = file.string();
    const Json document = parse_json(read_file(file, kMaxTreeBytes), source);
    if (json_get<int>(document, "format_version", source) != kTreeFormat) return std::nullopt;
    std::vector<RepoFile> files;
    const Json* entries = find_json_member(document, "files", source);
    if (entries == nullptr || !entries->is_object()) return std::nullopt;
    for (const auto& [path, entry] : entries->items()) files.push_back(tree_entry(path, entry, source));
    return files;
  } catch (const Error&) {
    return std::nullopt;
  }
}

void RepoCache::write_tree(const std::string& commit, const std::string& below,
                           const std::vector<RepoFile>& files) const {
  Json entries = Json::object();
  for (const RepoFile& file : files) {
    Json entry = {{"size", file.bytes}, {"blob_id", file.git_sha1}};
    if (!file.sha256.empty()) {
      entry["lfs_sha256"] = file.sha256;
      entry["lfs_size"] = file.bytes;
    }
    entries[file.path] = std::move(entry);
  }
  try {
    const fs::path path = tree_file(commit, below);
    make_folder(path.parent_path());
    write_file_atomically(path, dump_json(Json{{"format_version", kTreeFormat}, {"files", std::move(entries)}}, 1));
  } catch (const Error&) {
  }
}

std::vector<RepoFile> RepoCache::list_snapshot(const std::string& commit) const {
  std::vector<RepoFile> files;
  const fs::path root = folder_ / "snapshots" / commit;
  std::error_code error;
  for (fs::recursive_directory_iterator it(root, error), end; !error && it != end; it.increment(error)) {
    std::error_code ignored;
    if (!it->is_regular_file(ignored)) continue;
    RepoFile file;
    file.path = it->path().lexically_relative(root).generic_string();
    file.bytes = it->file_size(ignored);
    files.push_back(std::move(file));
  }
  std::ranges::sort(files, {}, &RepoFile::path);
  return files;
}

void RepoCache::make_folders(const std::string& etag) const {
  make_folder(folder_ / "blobs");
  make_folder(lock(etag).parent_path());
  const fs::path tag = cache_ / "CACHEDIR.TAG";
  try {
    if (!fs::exists(tag)) write_file_atomically(tag, kCacheTag);
  } catch (const Error&) {  // two at once: one of them wins
  }
}

void RepoCache::link(const std::string& etag, const std::string& commit, const std::string& path, bool uses_symlinks,
                     bool is_new) const {
  const fs::path pointer = snapshot(commit, path), target = blob(etag);
  make_folder(pointer.parent_path());
  std::error_code error;
  if (uses_symlinks) {
    // Made beside its place and renamed, so that nobody meets a moment without it.
    const fs::path beside = fs::path(pointer).concat(fmt::format(".link-{}", getpid()));
    fs::remove(beside, error);
    error.clear();
    fs::create_symlink(target.lexically_relative(pointer.parent_path()), beside, error);
    if (!error) fs::rename(beside, pointer, error);
    if (!error) return;
    fs::remove(beside, error);
    error.clear();
  }
  if (is_new) {
    fs::rename(target, pointer, error);
  } else {
    const fs::path beside = fs::path(pointer).concat(fmt::format(".copy-{}", getpid()));
    fs::copy_file(target, beside, fs::copy_options::overwrite_existing, error);
    if (!error) fs::rename(beside, pointer, error);
  }
  check(!error, ErrorKind::io, "cannot put '{}' in its place in the cache: {}", pointer.string(), error.message());
}

uint64_t RepoCache::remove_outdated(const std::string& etag, const std::string& note) const {
  constexpr std::string_view kEnding = ".incomplete";
  uint64_t freed_bytes = 0;
  std::error_code error;
  for (fs::directory_iterator it(folder_ / "blobs", error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (!name.ends_with(kEnding)) continue;
    const std::string other = name.substr(0, name.size() - kEnding.size());
    if (other == etag || !is_plain_token(other)) continue;
    std::error_code ignored;
    const fs::path lock_file = lock(other);
    if (!fs::is_regular_file(lock_file, ignored) || fs::file_size(lock_file, ignored) > kMaxNoteBytes) continue;
    if (!is_unlocked(lock_file)) continue;
    if (read_file(lock_file, kMaxNoteBytes) != note) continue;
    const uint64_t bytes = it->file_size(ignored);
    if (fs::remove(it->path(), ignored)) freed_bytes += bytes;
  }
  return freed_bytes;
}

}  // namespace owlet
