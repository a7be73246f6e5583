#include "data/catalogue/dataset_get.hpp"

#include "base/atomic_file.hpp"
#include "base/error.hpp"
#include "base/human.hpp"
#include "base/json.hpp"
#include "data/hub/digest.hpp"
#include "data/hub/hub_names.hpp"
#include "data/source_note.hpp"

namespace owlet {

namespace {

namespace fs = std::filesystem;

/// Bytes of files that are not in the cache yet, as far as their sizes are known.
uint64_t missing_bytes(HubClient& hub, const DatasetChoice& choice) {
  const RepoCache cache(hub.settings().cache, choice.repo);
  uint64_t bytes = 0;
  for (const ChosenFile& file : choice.files) {
    if (!cache.has(cache.read_ref(file.revision).value_or(file.revision), file.path)) bytes += file.bytes;
  }
  return bytes;
}

void check_disk_space(HubClient& hub, const DatasetChoice& choice) {
  if (hub.settings().is_offline) return;
  // Parts of downloads that stopped count as missing here; each file looks more closely when its turn comes.
  uint64_t partial_bytes = 0;
  std::error_code error;
  const RepoCache cache(hub.settings().cache, choice.repo);
  for (fs::directory_iterator it(cache.folder() / "blobs", error), end; !error && it != end; it.increment(error)) {
    std::error_code ignored;
    if (it->path().extension() == ".incomplete") partial_bytes += it->file_size(ignored);
  }
  const uint64_t missing = missing_bytes(hub, choice), available = free_disk_bytes(hub.settings().cache);
  const uint64_t needed = missing > partial_bytes ? missing - partial_bytes : 0;
  if (needed > available) {
    throw Error(ErrorKind::io,
                fmt::format("{} needs {} more, but only {} are free at '{}'", choice.name, format_bytes(needed),
                            format_bytes(available), hub.settings().cache.string()),
                "HF_HUB_CACHE names another place; --max-files or --files takes a part of the set");
  }
}

/// Replaces `target` by a hard link to the cached content, or a copy where the disks differ.
void place_file(const fs::path& cached, const fs::path& target) {
  std::error_code error;
  fs::create_directories(target.parent_path(), error);
  check(!error, ErrorKind::io, "cannot create '{}': {}", target.parent_path().string(), error.message());
  const fs::path content = fs::canonical(cached), beside = fs::path(target).concat(".partial");
  fs::remove(beside, error);
  fs::create_hard_link(content, beside, error);
  if (error) {
    const uint64_t bytes = fs::file_size(content), available = free_disk_bytes(target);
    check(bytes <= available, ErrorKind::io, "'{}' needs {}, but only {} are free there", target.string(),
          format_bytes(bytes), format_bytes(available));
    fs::copy_file(content, beside, fs::copy_options::overwrite_existing, error);
    check(!error, ErrorKind::io, "cannot copy '{}' to '{}': {}", content.string(), target.string(), error.message());
  }
  fs::rename(beside, target, error);
  check(!error, ErrorKind::io, "cannot write '{}': {}", target.string(), error.message());
}

/// A folder may be new, empty, or hold an earlier export of the same set.
void check_folder(const DatasetChoice& choice, const fs::path& folder, bool force) {
  if (force || !fs::exists(folder)) return;
  check(fs::is_directory(folder), ErrorKind::invalid_argument, "'{}' is a file, not a folder", folder.string());
  if (fs::is_empty(folder)) return;
  const fs::path note = folder / kSourceNote;
  if (fs::is_regular_file(note)) {
    const auto repo = json_get_or<std::string>(read_json(note), "repo", "", note.string());
    if (repo == choice.repo) return;
    throw Error(ErrorKind::invalid_argument,
                fmt::format("'{}' holds files of {}, not of {}", folder.string(), repo, choice.repo),
                "choose another --out, or --force to add these");
  }
  throw Error(ErrorKind::invalid_argument, fmt::format("'{}' is not empty", folder.string()),
              "choose another --out, or --force to add the files there");
}

std::string sha256_of(const FetchedFile& file, const HubClient& hub) {
  // The name of a large file's blob is its digest, checked when it came.
  const std::string blob = fs::canonical(file.path).filename().string();
  if (digest_kind_of(blob) == DigestKind::sha256) return blob;
  return sha256_of_file(file.path, hub.hooks().should_stop);
}

}  // namespace

std::vector<FetchedFile> fetch_dataset(HubClient& hub, const DatasetChoice& choice) {
  check_disk_space(hub, choice);
  uint64_t total_bytes = 0;
  bool are_sizes_known = true;
  for (const ChosenFile& file : choice.files) {
    total_bytes += file.bytes;
    are_sizes_known = are_sizes_known && file.bytes > 0;
  }
  TransferMeter meter(hub.hooks(), choice.files.size(), are_sizes_known ? total_bytes : 0);
  std::vector<FetchedFile> fetched;
  std::string branch, commit;  // the first file of a branch tells its commit; the others must come from the same
  for (const ChosenFile& file : choice.files) {
    const std::string revision = !commit.empty() && file.revision == branch ? commit : file.revision;
    const CachedFile here = hub.fetch(choice.repo, revision, file.path, meter);
    branch = file.revision;
    commit = here.commit;
    fetched.push_back({file, here.path, here.commit, here.bytes, here.was_cached});
  }
  return fetched;
}

void export_dataset(HubClient& hub, const DatasetChoice& choice, std::vector<FetchedFile>& files,
                    const fs::path& folder, bool force) {
  check_folder(choice, folder, force);
  OrderedJson entries = OrderedJson::array();
  for (FetchedFile& file : files) {
    check_file_path(file.chosen.path, choice.repo);
    const std::string sha256 = sha256_of(file, hub);
    const fs::path target = folder / file.chosen.path;
    place_file(file.path, target);
    file.path = target;
    entries.push_back(
        {{"path", file.chosen.path}, {"split", file.chosen.split}, {"bytes", file.bytes}, {"sha256", sha256}});
  }
  const OrderedJson note = {{"name", choice.name},
                            {"repo", choice.repo},
                            {"url", fmt::format("{}/datasets/{}", hub.settings().endpoint, choice.repo)},
                            {"config", choice.config},
                            {"revision", choice.revision},
                            {"commit", files.empty() ? "" : files.front().commit},
                            {"licence", choice.licence},
                            {"kind", choice.kind},
                            {"format", choice.format},
                            {"layout", choice.layout},
                            {"files", entries}};
  write_file_atomically(folder / kSourceNote, dump_json(note, 2) + "\n");
}

}  // namespace owlet
