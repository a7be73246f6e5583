// One row of a batch from a window of the token sequence or from whole documents: what training and evaluation streams
// share.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "data/batch_stream.hpp"
#include "data/document_packing.hpp"
#include "data/token_sequence.hpp"

namespace owlet {

/// Fills rows of batches; keeps its scratch between rows. Not thread-safe.
class BatchRowWriter {
 public:
  BatchRowWriter(const TokenSequence& tokens, int64_t context, bool cross_documents)
      : tokens_(tokens), context_(context), cross_documents_(cross_documents) {}

  /// A batch of `num_rows` rows of zeros.
  Batch make_batch(int64_t num_rows) const;
  /// Fills row `row` with inputs [begin, begin + count) and targets one further, count <= T; what is left of the row
  /// becomes padding (its own document, targets -1). The target across a border to a document without end-of-text
  /// token is -1.
  void fill(Batch& batch, int64_t row, uint64_t begin, int64_t count);
  /// Fills row `row` with whole documents one behind the other, at most T tokens together. Each token's target is the
  /// next one of its document where that is trained (shard.hpp: loss mask); the last token of a document has none.
  void fill_documents(Batch& batch, int64_t row, std::span<const DocumentRange> documents);

 private:
  void mark_documents(Batch& batch, size_t base, int64_t begin, int64_t end) const;

  const TokenSequence& tokens_;
  int64_t context_;
  bool cross_documents_;
  std::vector<int32_t> window_;
  std::vector<uint64_t> starts_;
  std::vector<uint8_t> is_trained_;
};

}  // namespace owlet
