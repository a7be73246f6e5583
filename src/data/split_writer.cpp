#include "data/split_writer.hpp"

#include <fmt/format.h>

#include "text/tokenizer.hpp"

namespace owlet {

ShardKind document_shards(const Tokenizer& tokenizer) {
  return {static_cast<uint64_t>(tokenizer.vocab_size()), tokenizer.fingerprint(),
          tokenizer.end_of_text_id().value_or(-1)};
}

SplitWriter::SplitWriter(std::filesystem::path folder, std::string name, const ShardKind& kind,
                         uint64_t tokens_per_shard)
    : folder_(std::move(folder)), name_(std::move(name)), kind_(kind), tokens_per_shard_(tokens_per_shard) {}

void SplitWriter::add(std::span<const int32_t> tokens, std::span<const uint8_t> is_trained, uint64_t bytes) {
  if (!shard_) {
    file_name_ = fmt::format("{}-{:05}.owl", name_, info_.shards.size());
    shard_.emplace(folder_ / file_name_, kind_.vocab_size, kind_.tokenizer_fingerprint, kind_.end_of_text_id,
                   kind_.has_loss_mask);
  }
  shard_->add_document(tokens, is_trained, bytes);
  if (shard_->num_tokens() >= tokens_per_shard_) close_shard();
}

SplitInfo SplitWriter::finish() {
  if (shard_) close_shard();
  return info_;
}

void SplitWriter::close_shard() {
  shard_->commit();
  info_.shards.push_back({file_name_, shard_->num_tokens(), shard_->num_documents(), shard_->text_bytes()});
  info_.tokens += shard_->num_tokens();
  info_.documents += shard_->num_documents();
  info_.bytes += shard_->text_bytes();
  num_trained_tokens_ += shard_->num_trained_tokens();
  shard_.reset();
}

}  // namespace owlet
