// Bringing a set from the Hub to this computer, and laying its files out in a folder with a note of where they came
// from.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "data/catalogue/dataset_choice.hpp"

namespace owlet {

struct FetchedFile {
  ChosenFile chosen;
  std::filesystem::path path;  ///< on this computer
  std::string commit;
  uint64_t bytes = 0;
  bool was_cached = false;
};

/// Downloads the chosen files into the cache, one after the other. Checks first that the disk holds what is missing:
/// Error io with both numbers otherwise. Throws what HubClient::fetch throws; files that came stay.
std::vector<FetchedFile> fetch_dataset(HubClient& hub, const DatasetChoice& choice);

/// Puts the files into `folder` under their paths in the repository, as hard links into the cache where both lie on
/// one disk, else as copies, and writes source.json (kSourceNote): {name, repo, url, config, revision, commit, licence,
/// kind, format, layout, files: [{path, split, bytes, sha256}]}. `path` of each file becomes its place there. Throws
/// Error invalid_argument for a folder that holds other things, unless `force` (then files of the same names are
/// replaced, others stay), io, cancelled.
void export_dataset(HubClient& hub, const DatasetChoice& choice, std::vector<FetchedFile>& files,
                    const std::filesystem::path& folder, bool force);

}  // namespace owlet
