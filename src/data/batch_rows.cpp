#include "data/batch_rows.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace owlet {

Batch BatchRowWriter::make_batch(int64_t num_rows) const {
  Batch batch;
  batch.batch_size = num_rows;
  batch.context = context_;
  const size_t size = static_cast<size_t>(num_rows * context_);
  batch.inputs.assign(size, 0);
  batch.targets.assign(size, -1);
  batch.positions.assign(size, 0);
  batch.document_starts.assign(size, 0);
  return batch;
}

void BatchRowWriter::fill(Batch& batch, int64_t row, uint64_t begin, int64_t count) {
  window_.resize(static_cast<size_t>(count) + 1);
  tokens_.copy_tokens(begin, window_.size(), window_.data());
  starts_.clear();
  tokens_.append_document_starts(begin + 1, begin + window_.size(), starts_);

  const size_t base = static_cast<size_t>(row * context_);
  std::copy_n(window_.begin(), count, batch.inputs.begin() + static_cast<std::ptrdiff_t>(base));
  std::copy_n(window_.begin() + 1, count, batch.targets.begin() + static_cast<std::ptrdiff_t>(base));
  batch.num_valid += count;
  if (tokens_.end_of_text_id() < 0) {
    for (const uint64_t start : starts_) batch.targets[base + static_cast<size_t>(start - begin) - 1] = -1;
    batch.num_valid -= static_cast<int64_t>(starts_.size());
  }

  size_t next_start = 0;
  int32_t document_start = 0;
  for (int32_t t = 0; t < context_; ++t) {
    const bool begins_document = !cross_documents_ && next_start < starts_.size() &&
                                 starts_[next_start] == begin + static_cast<uint64_t>(t) && t < count;
    if (begins_document) ++next_start;
    if (begins_document || t == count) document_start = t;
    batch.document_starts[base + static_cast<size_t>(t)] = document_start;
    batch.positions[base + static_cast<size_t>(t)] = t - document_start;
  }
}

void BatchRowWriter::fill_documents(Batch& batch, int64_t row, std::span<const DocumentRange> documents) {
  const size_t base = static_cast<size_t>(row * context_);
  int64_t filled = 0;
  for (const DocumentRange& document : documents) {
    const auto count = static_cast<int64_t>(document.num_tokens);
    check(count <= context_ - filled, ErrorKind::internal, "documents of {} tokens in a row of {}", filled + count,
          context_);
    const size_t place = base + static_cast<size_t>(filled);
    tokens_.copy_tokens(document.begin, document.num_tokens, batch.inputs.data() + place);
    is_trained_.resize(document.num_tokens);
    tokens_.copy_loss_mask(document.begin, document.num_tokens, is_trained_.data());
    for (size_t t = 0; t + 1 < document.num_tokens; ++t) {
      if (is_trained_[t + 1] == 0) continue;
      batch.targets[place + t] = batch.inputs[place + t + 1];
      batch.num_valid += 1;
    }
    if (!cross_documents_) mark_documents(batch, base, filled, filled + count);
    filled += count;
  }
  if (cross_documents_) mark_documents(batch, base, 0, filled);
  mark_documents(batch, base, filled, context_);  // padding is a document of its own
}

void BatchRowWriter::mark_documents(Batch& batch, size_t base, int64_t begin, int64_t end) const {
  for (int64_t t = begin; t < end; ++t) {
    batch.document_starts[base + static_cast<size_t>(t)] = static_cast<int32_t>(begin);
    batch.positions[base + static_cast<size_t>(t)] = static_cast<int32_t>(t - begin);
  }
}

}  // namespace owlet
