// The folder `checkpoints/` of a run: step-N folders that appear whole, `latest` and `best`, old ones pruned. Knows
// names and bytes, not models.
//
//   write_checkpoint(run / "checkpoints", 500, bytes, [&](const fs::path& folder) { save_everything(folder); });
//   mark_checkpoint(run / "checkpoints", "best", 500);
//   prune_checkpoints(run / "checkpoints", 2);
//   auto found = newest_valid_checkpoint(run / "checkpoints");   // falls back over broken ones, with a warning
//
// A checkpoint is what its owner writes plus `checkpoint.json`: step, and size and CRC-32 of each file.
// `latest` and `best` are relative symbolic links to step-N; where the file system has no links, text files that
// hold the name.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace owlet {

struct CheckpointEntry {
  int64_t step = 0;
  std::filesystem::path path;  ///< FOLDER/step-N
};

/// FOLDER/step-N.
std::filesystem::path checkpoint_path(const std::filesystem::path& folder, int64_t step);

/// All step-N folders by rising step, without looking inside. A missing folder has none.
std::vector<CheckpointEntry> list_checkpoints(const std::filesystem::path& folder);

/// Writes FOLDER/step-N: checks that `estimated_bytes` fit on the disk, lets `fill` write into a working folder, adds
/// checkpoint.json, moves it into place and points `latest` at it. An existing step-N is replaced. If anything throws,
/// the checkpoints there stay as they were. Throws io with bytes needed and free. Returns the path.
std::filesystem::path write_checkpoint(const std::filesystem::path& folder, int64_t step, uint64_t estimated_bytes,
                                       const std::function<void(const std::filesystem::path& working)>& fill);

/// Points FOLDER/NAME ("latest", "best") at step-N, atomically. Throws not_found if that checkpoint does not exist.
void mark_checkpoint(const std::filesystem::path& folder, std::string_view name, int64_t step);

/// The step that FOLDER/NAME points at; nothing where it is missing or points at no checkpoint.
std::optional<int64_t> marked_checkpoint(const std::filesystem::path& folder, std::string_view name);

/// Removes all but the newest `keep_last` (at least 1) and the one marked `best`, and what killed writers left behind.
/// Returns the removed steps.
std::vector<int64_t> prune_checkpoints(const std::filesystem::path& folder, int keep_last);

/// Reads all files of a checkpoint against its checkpoint.json. Throws corrupt_file naming the file and both values.
void verify_checkpoint(const std::filesystem::path& checkpoint);

/// The newest checkpoint that passes verify_checkpoint(); each broken one is passed over with a warning in the log.
/// Nothing where there are no checkpoints at all; throws corrupt_file if there are some and all are broken.
std::optional<CheckpointEntry> newest_valid_checkpoint(const std::filesystem::path& folder);

/// Throws io, with both numbers, unless `needed_bytes` fit on the file system of `folder`. `what` names the thing, for
/// example "a checkpoint".
void check_disk_space(const std::filesystem::path& folder, uint64_t needed_bytes, std::string_view what);

}  // namespace owlet
