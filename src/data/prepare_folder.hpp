// The folder in which a preparation works, and what it remembers to go on after an interruption:
//   OUT.owlet-prepare/data/         the data folder so far (data/growing_shard.hpp)
//   OUT.owlet-prepare/hashes        16 bytes for each document, in order (data/seen_documents.hpp)
//   OUT.owlet-prepare/journal.json  what was asked, and how far everything above is whole
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "base/json.hpp"

namespace owlet {

/// One preparation's working folder, locked while the object lives. Not thread-safe.
class PrepareFolder {
 public:
  /// Opens or makes the folder beside `out`. `request` is all that decides the output. Where an unfinished preparation
  /// is found there, state() says how far it came; one of another request is refused (naming the first difference)
  /// unless `restarts`, which throws unfinished work away. Throws invalid_argument, and io where another process works
  /// there.
  PrepareFolder(const std::filesystem::path& out, OrderedJson request, bool restarts);
  ~PrepareFolder();
  PrepareFolder(const PrepareFolder&) = delete;
  PrepareFolder& operator=(const PrepareFolder&) = delete;

  std::filesystem::path data_path() const { return path_ / "data"; }
  std::filesystem::path hashes_path() const { return path_ / "hashes"; }
  const std::filesystem::path& path() const { return path_; }
  std::string journal_name() const { return (path_ / "journal.json").string(); }
  /// What was kept last; nothing for a new preparation.
  const std::optional<Json>& state() const { return state_; }
  /// Remembers `state`; everything that it speaks of must be on the disk.
  void keep(const OrderedJson& state);
  /// Moves the data folder to its place and removes the rest.
  void commit();
  /// Removes everything; for a preparation that failed before it had anything to keep.
  void discard();

 private:
  void begin(bool restarts);

  std::filesystem::path out_, path_;
  OrderedJson request_;
  std::optional<Json> state_;
  int lock_ = -1;
};

}  // namespace owlet
