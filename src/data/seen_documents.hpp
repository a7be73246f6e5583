// Which documents came before: exact duplicates found by 128-bit hashes in bounded memory.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace owlet {

/// The first 16 bytes of the SHA-256 of a document; the lowest bit of `low` says the side it went to (1: validation).
struct DocumentHash {
  uint64_t high = 0, low = 0;
  bool is_validation() const { return (low & 1) != 0; }
  DocumentHash with_side(bool is_validation) const { return {high, (low & ~uint64_t{1}) | (is_validation ? 1 : 0)}; }
  bool is_same_document(const DocumentHash& other) const { return high == other.high && (low | 1) == (other.low | 1); }
};
/// Safe to call from several threads.
DocumentHash hash_document(std::string_view text);

/// A set of hashes: a table in memory, and sorted runs in unnamed files of a folder once it is full, looked up a page
/// at a time and merged when there are many. Not thread-safe.
class SeenDocuments {
 public:
  /// Uses at most about `memory_bytes`, and a thousandth of the runs for where their pages begin.
  SeenDocuments(std::filesystem::path folder, uint64_t memory_bytes);
  ~SeenDocuments();
  /// The earlier entry of the same document, or nothing; then this one is entered.
  std::optional<DocumentHash> find_or_insert(const DocumentHash& hash);
  uint64_t size() const { return num_in_runs_ + num_in_table_; }
  size_t num_runs() const { return runs_.size(); }

 private:
  class Run;
  size_t slot_of(const DocumentHash& hash) const;
  void grow();
  void spill();
  void merge_runs();

  std::filesystem::path folder_;
  size_t max_slots_;
  std::vector<DocumentHash> table_;  ///< open addressing; {0, 0} is free
  uint64_t num_in_table_ = 0, num_in_runs_ = 0;
  std::vector<std::unique_ptr<Run>> runs_;
};

}  // namespace owlet
