// Fetching one file's content into the cache: resumed where it stopped, checked, and under its final name only when
// whole.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "data/hub/hub_requests.hpp"
#include "data/hub/repo_cache.hpp"
#include "data/hub/transfer_meter.hpp"

namespace owlet {

/// What the Hub says about a file before it is fetched.
struct FileMetadata {
  std::string commit;
  std::string etag;              ///< SHA-256 of large files, git's SHA-1 of others
  std::string location;          ///< where the bytes are; may be another host
  std::optional<uint64_t> size;  ///< in bytes
};

enum class BlobOutcome {
  whole,    ///< blobs/<etag> is there, its size and digest are right
  changed,  ///< the server has another content by now: ask for the metadata again
  damaged,  ///< came whole but is not what the metadata promise; what was here has been discarded
};

/// Fetches the blob while the caller holds its lock. A part that is there from before is continued by Range if the
/// server can; it is discarded by itself when it is as large as the file or larger and not the file, when the server
/// answers 416 or offers other bytes. Dropped connections and busy servers are asked again with growing pauses; the
/// count of attempts starts again with every byte that comes. Throws Error io (disk space, with numbers; the network),
/// cancelled (the part stays for the next time), and what throw_if_failed throws. `reason` receives what was wrong
/// with a damaged one.
BlobOutcome download_blob(HubRequests& requests, const RepoCache& cache, const FileMetadata& metadata,
                          const HubSubject& subject, TransferMeter& meter, std::string& reason);

/// The fields of a Content-Range header: `bytes 5-9/10` → {5, 10}; `bytes */10` → {nothing, 10}; an unknown total `*`
/// is nothing as well.
struct ContentRange {
  std::optional<uint64_t> first, total;
};
/// Nothing for what is no such header.
std::optional<ContentRange> parse_content_range(const std::string& value);

}  // namespace owlet
