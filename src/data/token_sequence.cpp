#include "data/token_sequence.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace owlet {
namespace {

// Each random access makes at least one page resident, so pages are counted, not bytes.
constexpr uint64_t kPageBytes = 4096;
constexpr uint64_t kReleaseBytes = uint64_t{32} << 20;

}  // namespace

TokenSequence::TokenSequence(std::vector<ShardReader> shards) : shards_(std::move(shards)), first_tokens_{0} {
  for (const ShardReader& shard : shards_) {
    const ShardHeader &first = shards_[0].header(), &header = shard.header();
    check(header.vocab_size == first.vocab_size && header.tokenizer_fingerprint == first.tokenizer_fingerprint &&
              header.end_of_text_id == first.end_of_text_id,
          ErrorKind::corrupt_file, "{} was made with the tokenizer {:016x} ({} tokens), but {} with {:016x} ({})",
          shard.path().string(), header.tokenizer_fingerprint, header.vocab_size, shards_[0].path().string(),
          first.tokenizer_fingerprint, first.vocab_size);
    check(header.has_loss_mask() == first.has_loss_mask(), ErrorKind::corrupt_file,
          "{} has {} loss mask, but {} has {}: conversations and plain text do not mix", shard.path().string(),
          header.has_loss_mask() ? "a" : "no", shards_[0].path().string(), first.has_loss_mask() ? "one" : "none");
    first_tokens_.push_back(first_tokens_.back() + header.num_tokens);
    num_documents_ += header.num_documents;
  }
}

size_t TokenSequence::shard_of(uint64_t token) const {
  const auto behind = std::upper_bound(first_tokens_.begin(), first_tokens_.end(), token);
  return static_cast<size_t>(behind - first_tokens_.begin()) - 1;
}

void TokenSequence::copy_tokens(uint64_t begin, uint64_t count, int32_t* out) const {
  check(begin <= num_tokens() && count <= num_tokens() - begin, ErrorKind::invalid_argument,
        "tokens {} to {} asked, the dataset has {}", begin, begin + count, num_tokens());
  uint64_t bytes_read = 0;
  while (count > 0) {
    const size_t shard = shard_of(begin);
    const uint64_t part = std::min(count, first_tokens_[shard + 1] - begin);
    shards_[shard].copy_tokens(begin - first_tokens_[shard], part, out);
    bytes_read += part * shards_[shard].header().token_width_bytes + 2 * kPageBytes;
    begin += part;
    out += part;
    count -= part;
  }
  release_now_and_then(bytes_read);
}

void TokenSequence::copy_loss_mask(uint64_t begin, uint64_t count, uint8_t* out) const {
  check(begin <= num_tokens() && count <= num_tokens() - begin, ErrorKind::invalid_argument,
        "the mask of tokens {} to {} asked, the dataset has {}", begin, begin + count, num_tokens());
  while (count > 0) {
    const size_t shard = shard_of(begin);
    const uint64_t part = std::min(count, first_tokens_[shard + 1] - begin);
    shards_[shard].copy_loss_mask(begin - first_tokens_[shard], part, out);
    begin += part;
    out += part;
    count -= part;
  }
}

void TokenSequence::append_document_starts(uint64_t begin, uint64_t end, std::vector<uint64_t>& starts) const {
  end = std::min(end, num_tokens());
  while (begin < end) {
    const size_t shard = shard_of(begin);
    const uint64_t first_token = first_tokens_[shard], shard_end = std::min(end, first_tokens_[shard + 1]);
    const ShardReader& reader = shards_[shard];
    for (uint64_t i = reader.first_document_from(begin - first_token); i < reader.header().num_documents; ++i) {
      const uint64_t start = first_token + reader.document_start(i);
      if (start >= shard_end) break;
      starts.push_back(start);
    }
    begin = shard_end;
  }
}

void TokenSequence::release_now_and_then(uint64_t bytes_read) const {
  if (bytes_since_release_.fetch_add(bytes_read, std::memory_order_relaxed) + bytes_read < kReleaseBytes) return;
  bytes_since_release_.store(0, std::memory_order_relaxed);
  for (const ShardReader& shard : shards_) shard.release_pages();
}

}  // namespace owlet
