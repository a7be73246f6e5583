// Data sets on a Hub: which files they have, and these files in the cache.
//
//   const HubSettings settings = read_hub_settings();
//   HubHooks hooks{…};
//   HubClient hub(settings, hooks);
//   const std::string commit = hub.resolve("roneneldan/TinyStories", "main");
//   for (const RepoFile& file : hub.list_files("roneneldan/TinyStories", commit)) …
//   const CachedFile here = hub.fetch("roneneldan/TinyStories", commit, "TinyStories-valid.txt", meter);
//
// Data sets only; how one is chosen and what the catalogue knows is in data/catalogue/.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "data/hub/blob_download.hpp"
#include "data/hub/hub_requests.hpp"
#include "data/hub/hub_settings.hpp"
#include "data/hub/repo_cache.hpp"
#include "data/hub/transfer_meter.hpp"

namespace owlet {

/// A file of a set that is in the cache.
struct CachedFile {
  std::filesystem::path path;  ///< in the cache's snapshot
  std::string commit;
  uint64_t bytes = 0;
  bool was_cached = false;  ///< nothing had to be fetched
};

class HubClient {
 public:
  /// Both must outlive the client. One thread.
  HubClient(const HubSettings& settings, const HubHooks& hooks);

  /// The commit of a branch or tag. A commit is returned as it is, without a request. Offline, or when the Hub does
  /// not answer, the one that the cache remembers (with a message). Throws what HubRequests throws; Error not_found
  /// offline without one in the cache.
  std::string resolve(const std::string& repo, const std::string& revision);

  /// The files of a commit, or only those below a folder (empty: all), sorted by path; asked once per commit and then
  /// kept in the cache. Offline without a list: the files that are in the cache. Throws like resolve; Error
  /// corrupt_file for a list that names files outside its folder or never ends.
  std::vector<RepoFile> list_files(const std::string& repo, const std::string& commit, const std::string& below = {});

  struct FoundFile {
    std::string commit;
    uint64_t bytes = 0;  ///< 0: unknown
    bool is_cached = false;
  };
  /// Asks for a file's commit and size without fetching it; answered from the cache where that is enough. Throws like
  /// fetch.
  FoundFile look_up(const std::string& repo, const std::string& revision, const std::string& path);

  /// Brings a file into the cache. A file of a commit that is there needs no request. Throws what HubRequests and
  /// download_blob throw; Error corrupt_file when it came damaged twice; not_found.
  CachedFile fetch(const std::string& repo, const std::string& revision, const std::string& path, TransferMeter& meter);

  HubRequests& requests() { return requests_; }
  const HubSettings& settings() const { return settings_; }
  const HubHooks& hooks() const { return hooks_; }

 private:
  /// Where a file is: in the cache, on the Hub as the metadata say, or both.
  struct Place {
    std::optional<CachedFile> cached;
    std::optional<FileMetadata> metadata;  ///< nothing: the cached one is meant
  };
  Place locate(const RepoCache& cache, const HubSubject& subject, const std::string& path);
  FileMetadata ask_metadata(const RepoCache& cache, const HubSubject& subject, const std::string& path);
  std::optional<CachedFile> find_cached(const RepoCache& cache, const std::string& revision, const std::string& path);
  CachedFile fetch_known(const RepoCache& cache, FileMetadata metadata, const HubSubject& subject,
                         const std::string& path, TransferMeter& meter);

  const HubSettings& settings_;
  const HubHooks& hooks_;
  HubRequests requests_;
};

/// The address of a file: ENDPOINT/datasets/REPO/resolve/REVISION/PATH.
std::string resolve_url(const HubSettings& settings, const std::string& repo, const std::string& revision,
                        const std::string& path);

/// The address behind rel="next" in a Link header (RFC 8288), nothing where there is none.
std::optional<std::string> next_link(const std::string& link_header);
/// Reads one page of a tree listing; folders are passed over. Throws Error corrupt_file naming `source`.
std::vector<RepoFile> parse_tree_page(const Json& page, const std::string& source);

}  // namespace owlet
