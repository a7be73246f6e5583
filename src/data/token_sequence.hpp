// The shards of one side of a dataset as one long sequence of tokens.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "data/shard.hpp"

namespace owlet {

/// Concatenation of shards that were made with one tokenizer. Safe to read from several threads. Keeps the resident
/// memory of a long run flat: what was read is released every few megabytes.
class TokenSequence {
 public:
  /// Throws corrupt_file if the shards disagree about vocabulary, fingerprint, end-of-text, or having a loss mask. May
  /// be empty.
  explicit TokenSequence(std::vector<ShardReader> shards);
  uint64_t num_tokens() const { return first_tokens_.back(); }
  uint64_t num_documents() const { return num_documents_; }
  /// Zero and -1 for a sequence without shards.
  uint64_t vocab_size() const { return shards_.empty() ? 0 : shards_[0].header().vocab_size; }
  int64_t end_of_text_id() const { return shards_.empty() ? -1 : shards_[0].header().end_of_text_id; }
  /// Whether only some tokens are trained (conversations).
  bool has_loss_mask() const { return !shards_.empty() && shards_[0].header().has_loss_mask(); }
  const std::vector<ShardReader>& shards() const { return shards_; }

  /// Copies tokens [begin, begin + count), across shard borders. Throws as ShardReader::copy_tokens.
  void copy_tokens(uint64_t begin, uint64_t count, int32_t* out) const;
  /// Puts 1 for each trained token of [begin, begin + count) into `out`, 0 for the others.
  void copy_loss_mask(uint64_t begin, uint64_t count, uint8_t* out) const;
  /// Appends to `starts` each position in [begin, end) at which a document begins, rising.
  void append_document_starts(uint64_t begin, uint64_t end, std::vector<uint64_t>& starts) const;

 private:
  size_t shard_of(uint64_t token) const;
  void release_now_and_then(uint64_t bytes_read) const;

  std::vector<ShardReader> shards_;
  std::vector<uint64_t> first_tokens_;  ///< of each shard, and the total at the end
  uint64_t num_documents_ = 0;
  mutable std::atomic<uint64_t> bytes_since_release_{0};
};

}  // namespace owlet
