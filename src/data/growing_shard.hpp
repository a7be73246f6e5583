// Shards written so that an interrupted preparation can go on inside them.
//
// A shard under way is two files: NAME.tokens (room for the header, then the tokens) and NAME.documents (the document
// index). Both only grow; what stands before a kept ShardProgress never changes, so going on is cutting them there.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "data/dataset.hpp"
#include "data/shard.hpp"
#include "data/split_writer.hpp"

namespace owlet {

/// A file that grows at its end. Throws io, with a hint where the disk is full. Not thread-safe.
class GrowingFile {
 public:
  /// Opens or makes `path` and cuts it to `bytes`; throws corrupt_file where it has fewer.
  GrowingFile(std::filesystem::path path, uint64_t bytes);
  ~GrowingFile();
  GrowingFile(const GrowingFile&) = delete;
  GrowingFile& operator=(const GrowingFile&) = delete;
  void append(std::span<const std::byte> bytes);
  void write_at(uint64_t offset, std::span<const std::byte> bytes);
  uint64_t size() const { return size_; }
  /// Everything written is on the disk when it returns.
  void flush();
  const std::filesystem::path& path() const { return path_; }

 private:
  void write_all(std::span<const std::byte> bytes, uint64_t offset);
  std::filesystem::path path_;
  int descriptor_ = -1;
  uint64_t size_ = 0;
  std::vector<std::byte> pending_;  ///< the last bytes of size_, not written yet
};

/// How far a shard has come.
struct ShardProgress {
  uint64_t tokens = 0, documents = 0, bytes = 0;
  uint32_t tokens_crc = 0, documents_crc = 0;
};
OrderedJson to_json(const ShardProgress& progress);
ShardProgress shard_progress_from_json(const Json& json, const std::string& source);

/// One shard under way. Not thread-safe.
class GrowingShard {
 public:
  /// Goes on from `progress` (from nothing: all zeros). A shard that was completed after `progress` was kept is taken
  /// apart again. `path` is the finished shard's, `work_folder` where the two files are until then.
  GrowingShard(const std::filesystem::path& path, const std::filesystem::path& work_folder, const ShardKind& kind,
               const ShardProgress& progress);
  /// A document comes as begin, any number of appends, end.
  void begin_document();
  void append(std::span<const int32_t> tokens);
  void end_document(uint64_t text_bytes);
  /// Brings everything to the disk and returns where it stands; not inside a document.
  ShardProgress flush();
  const ShardProgress& progress() const { return progress_; }
  /// Writes index and header and gives the file its final name. Returns the index file, which has to stay until it is
  /// kept elsewhere that the shard is complete.
  std::filesystem::path finish();

 private:
  void put(std::span<const int32_t> tokens);

  std::filesystem::path path_;
  ShardKind kind_;
  ShardProgress progress_;
  GrowingFile tokens_, documents_;
  std::vector<std::byte> scratch_;
};

/// One side of a data folder written as shards NAME-00000.owl, … of at least `tokens_per_shard` tokens.
class GrowingSplit {
 public:
  /// Finished shards come to `folder`.
  GrowingSplit(std::filesystem::path folder, std::filesystem::path work_folder, std::string name, const ShardKind& kind,
               uint64_t tokens_per_shard);
  /// Goes on from what state() gave.
  void resume(const Json& state, const std::string& source);
  void begin_document();
  void append(std::span<const int32_t> tokens);
  void end_document(uint64_t text_bytes);
  /// Brings everything to the disk and says where it stands; forget_finished() once that is kept.
  OrderedJson state();
  void forget_finished();
  /// Completes the last shard.
  SplitInfo finish();

 private:
  std::filesystem::path next_path() const;
  void close_shard();

  std::filesystem::path folder_, work_folder_;
  std::string name_;
  ShardKind kind_;
  uint64_t tokens_per_shard_;
  std::unique_ptr<GrowingShard> shard_;
  SplitInfo info_;
  std::vector<std::filesystem::path> old_indexes_;  ///< of finished shards
};

}  // namespace owlet
