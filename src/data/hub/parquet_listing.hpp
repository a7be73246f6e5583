// The parquet files into which Hugging Face converts every public set, as its dataset server lists them, or as the
// branch refs/convert/parquet holds them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/hub/hub_client.hpp"

namespace owlet {

inline constexpr std::string_view kParquetBranch = "refs/convert/parquet";

struct ParquetFile {
  std::string config, split;  ///< split without "partial-"
  std::string revision;       ///< of the repository
  std::string path;           ///< in the repository
  uint64_t bytes = 0;
};

struct ParquetListing {
  std::vector<ParquetFile> files;
  bool is_partial = false;           ///< only the first gigabytes of large splits were converted
  std::vector<std::string> pending;  ///< "config" or "config/split" not converted yet
  std::vector<std::string> failed;   ///< … and those that cannot be
};

/// Reads the dataset server's answer. Throws Error corrupt_file naming `source`.
ParquetListing parse_parquet_listing(const Json& document, const std::string& source);
/// The same from the names of the branch's files: CONFIG/SPLIT/NUMBER.parquet; others are passed over.
ParquetListing listing_of_branch(const std::vector<RepoFile>& files, const std::string& commit);

/// Asks the dataset server. Throws what HubRequests::get_json throws.
ParquetListing ask_parquet_listing(HubClient& hub, const std::string& repo);

}  // namespace owlet
