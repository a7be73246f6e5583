// One side of a data folder written as shards NAME-00000.owl, NAME-00001.owl, …
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>

#include "data/dataset.hpp"
#include "data/shard.hpp"

namespace owlet {

class Tokenizer;

/// What the shards of one preparation have in common.
struct ShardKind {
  uint64_t vocab_size = 0;
  uint64_t tokenizer_fingerprint = 0;
  int64_t end_of_text_id = -1;
  bool has_loss_mask = false;
};

/// Shards of this tokenizer for plain documents.
ShardKind document_shards(const Tokenizer& tokenizer);

/// Begins a new shard where the last one is full. Not thread-safe.
class SplitWriter {
 public:
  SplitWriter(std::filesystem::path folder, std::string name, const ShardKind& kind, uint64_t tokens_per_shard);
  /// A document of `bytes` bytes of text; `is_trained` is empty without a loss mask. Throws as ShardWriter does.
  void add(std::span<const int32_t> tokens, std::span<const uint8_t> is_trained, uint64_t bytes);
  /// Completes the last shard.
  SplitInfo finish();
  /// Tokens with loss so far.
  uint64_t num_trained_tokens() const { return num_trained_tokens_; }

 private:
  void close_shard();

  std::filesystem::path folder_;
  std::string name_, file_name_;
  ShardKind kind_;
  uint64_t tokens_per_shard_, num_trained_tokens_ = 0;
  std::optional<ShardWriter> shard_;
  SplitInfo info_;
};

}  // namespace owlet
