// Attention backward with bf16 dot products: the same units of work as in attention_grad.cpp. Scores and their
// gradients stand as (key, query); probabilities and score gradients are rounded to bf16 for the products that follow.
#include <algorithm>
#include <cstring>
#include <numbers>
#include <vector>

#include "backends/cpu/attention_bf16.hpp"
#include "backends/cpu/attention_scratch.hpp"
#include "base/error.hpp"

#if defined(__x86_64__)

#include "backends/cpu/attention_bf16-inl.h"

namespace owlet::cpu {
namespace {

constexpr int64_t kPairBytes = sizeof(uint32_t);

class GradientChunkBf16 {
 public:
  GradientChunkBf16(const op::AttentionGrad& op, const AttentionSizes& sizes, const GradientScratch& shared, int64_t b,
                    int64_t kh, int64_t chunk)
      : op_(op),
        sizes_(sizes),
        shared_(shared),
        b_(b),
        kh_(kh),
        chunk_(chunk),
        size_(sizes.head_size),
        padded_(sizes.padded_size),
        num_pairs_((size_ + 1) / 2),
        share_(op.dq.is_wanted() ? shared.share(sizes, chunk, b, kh) : nullptr),
        scratch_(static_cast<size_t>(kQueryBlock *
                                     (5 * padded_ + padded_ / 2 + 2 * kKeyBlock + kKeyBlock + kKeyBlock / 2 + 2))),
        query_columns_(take_pairs(padded_ / 2 * kQueryBlock)),
        dy_columns_(take_pairs(padded_ / 2 * kQueryBlock)),
        query_rows_(take_pairs(kQueryBlock / 2 * padded_)),
        dy_rows_(take_pairs(kQueryBlock / 2 * padded_)),
        key_rows_(take_pairs(kKeyBlock / 2 * padded_)),
        key_copy_(take_pairs(kKeyBlock * padded_ / 2)),
        value_copy_(take_pairs(kKeyBlock * padded_ / 2)),
        dk_(take(kKeyBlock * padded_)),
        dv_(take(kKeyBlock * padded_)),
        scores_(take(kKeyBlock * kQueryBlock)),
        dweights_(take(kKeyBlock * kQueryBlock)),
        weights_(reinterpret_cast<uint16_t*>(take(kKeyBlock * kQueryBlock / 2))),
        dscores_(reinterpret_cast<uint16_t*>(take(kKeyBlock * kQueryBlock / 2))),
        dscore_pairs_(take_pairs(kKeyBlock / 2 * kQueryBlock)),
        lse_(take(kQueryBlock)),
        delta_(take(kQueryBlock)),
        blocks_(all_block_ranges(sizes, b)) {}

  void run() {
    if (share_ != nullptr) std::memset(share_, 0, shared_.share_floats * sizeof(float));
    for (int64_t key = chunk_ * kKeyBlock; key < sizes_.keys; key += shared_.num_chunks * kKeyBlock) {
      key_begin_ = static_cast<int32_t>(key);
      key_end_ = static_cast<int32_t>(std::min(key + kKeyBlock, sizes_.keys));
      run_key_block();
    }
  }

 private:
  float* take(int64_t floats) { return scratch_.take(static_cast<size_t>(floats)); }
  uint32_t* take_pairs(int64_t pairs) { return reinterpret_cast<uint32_t*>(take(pairs)); }
  int64_t num_keys() const { return key_end_ - key_begin_; }

  void run_key_block() {
    const int64_t offset = sizes_.key_offset(b_, kh_, key_begin_), stride = sizes_.key_stride();
    const bf16 *k = op_.k.data<bf16>() + offset, *v = op_.v.data<bf16>() + offset;
    keys_ = rows_as_factor(k, stride, num_keys(), size_, key_copy_);
    values_ = rows_as_factor(v, stride, num_keys(), size_, value_copy_);
    if (share_ != nullptr) pack_rows([&](int64_t i) { return k + i * stride; }, num_keys(), size_, padded_, key_rows_);
    std::fill_n(dk_, kKeyBlock * padded_, 0.0f);
    std::fill_n(dv_, kKeyBlock * padded_, 0.0f);
    for (int64_t block = 0; block < sizes_.row_blocks(); ++block) {
      ranges_ = &blocks_[static_cast<size_t>(block)];
      if (!ranges_->all.sees_any(key_begin_, key_end_)) continue;
      row_begin_ = block * kQueryBlock;
      row_end_ = std::min(row_begin_ + kQueryBlock, sizes_.rows);
      run_query_block(VectorRange(*ranges_, key_begin_, key_end_));
    }
    for (int64_t i = 0; i < num_keys(); ++i) {
      const int64_t target = sizes_.key_offset(b_, kh_, key_begin_ + i);
      if (op_.dk.is_wanted()) store_gradient_row(dk_ + i * padded_, op_.scale, op_.dk, target);
      if (op_.dv.is_wanted()) store_gradient_row(dv_ + i * padded_, 1.0f, op_.dv, target);
    }
  }

  void load_queries() {
    const auto row_of = [&](const Tensor& tensor) {
      return
          [this, data = tensor.data<bf16>()](int64_t i) { return data + sizes_.query_offset(b_, kh_, row_begin_ + i); };
    };
    const int64_t rows = row_end_ - row_begin_;
    pack_columns(row_of(op_.q), rows, size_, query_columns_);
    pack_columns(row_of(op_.dy), rows, size_, dy_columns_);
    if (op_.dk.is_wanted()) pack_query_rows(row_of(op_.q), query_rows_);
    if (op_.dv.is_wanted()) pack_query_rows(row_of(op_.dy), dy_rows_);
    const float* delta = shared_.delta + (b_ * sizes_.kv_heads + kh_) * sizes_.rows;
    for (int64_t i = 0; i < kQueryBlock; ++i) {
      const int64_t row = row_begin_ + i;
      lse_[i] = i < rows ? op_.lse.data<float>()[sizes_.lse_offset(b_, kh_, row)] * std::numbers::log2e_v<float> : 0.0f;
      delta_[i] = i < rows ? delta[row] : 0.0f;
    }
  }

  /// Rows behind the last query become zero: their weights are not.
  template <typename Row>
  void pack_query_rows(const Row& row, uint32_t* target) {
    const int64_t rows = row_end_ - row_begin_, pairs = (rows + 1) / 2;
    pack_rows(row, rows, size_, padded_, target);
    std::fill_n(target + pairs * padded_, (kQueryBlock / 2 - pairs) * padded_, 0u);
  }

  void run_query_block(VectorRange vectors) {
    if (vectors.is_empty()) return;
    load_queries();
    const int64_t column = vectors.begin * kLanes, columns = vectors.columns();
    multiply<TileUpdate::overwrite>(keys_, num_keys(), query_columns_ + column, kQueryBlock, num_pairs_,
                                    scores_ + column, kQueryBlock, columns);
    multiply<TileUpdate::overwrite>(values_, num_keys(), dy_columns_ + column, kQueryBlock, num_pairs_,
                                    dweights_ + column, kQueryBlock, columns);
    for (int64_t v = vectors.begin; v < vectors.end; ++v) take_exponentials(v);
    const int64_t row_bytes = kQueryBlock * static_cast<int64_t>(sizeof(uint16_t));
    const auto add_to_keys = [&](const uint16_t* factors, const uint32_t* rows, float* target) {
      multiply<TileUpdate::add>({factors + column, row_bytes, kPairBytes}, num_keys(), rows + column / 2 * padded_,
                                padded_, columns / 2, target, padded_, padded_);
    };
    if (op_.dv.is_wanted()) add_to_keys(weights_, dy_rows_, dv_);
    if (op_.dk.is_wanted()) add_to_keys(dscores_, query_rows_, dk_);
    if (share_ == nullptr) return;
    multiply<TileUpdate::add>({dscore_pairs_ + column, kPairBytes, kQueryBlock * kPairBytes}, columns, key_rows_,
                              padded_, (num_keys() + 1) / 2, share_ + (row_begin_ + column) * padded_, padded_,
                              padded_);
  }

  void take_exponentials(int64_t vector) {
    if (ranges_->bounds(vector * kLanes, (vector + 1) * kLanes).sees_all(key_begin_, key_end_)) {
      take_exponentials(vector, [](int64_t) { return __mmask16(0xffff); });
    } else {
      const VisibleLanes visible(*ranges_, vector);
      take_exponentials(vector, [&](int64_t key) { return visible.of(key_begin_ + static_cast<int32_t>(key)); });
    }
  }

  /// Probabilities, and the gradients of the scores over scale, of one vector of queries; hidden keys get 0.
  template <typename Mask>
  void take_exponentials(int64_t vector, const Mask& mask) {
    const int64_t column = vector * kLanes, keys = num_keys();
    const __m512 factor = _mm512_set1_ps(op_.scale * std::numbers::log2e_v<float>);
    const __m512 lse = _mm512_loadu_ps(lse_ + column), delta = _mm512_loadu_ps(delta_ + column);
    const auto take_key = [&](int64_t key) {
      const int64_t at = key * kQueryBlock + column;
      const __mmask16 seen = mask(key);
      const __m512 weight =
          _mm512_maskz_mov_ps(seen, power_of_two(_mm512_fmsub_ps(_mm512_loadu_ps(scores_ + at), factor, lse)));
      const __m512 dscore = _mm512_maskz_mul_ps(seen, weight, _mm512_sub_ps(_mm512_loadu_ps(dweights_ + at), delta));
      round_to_bf16(weight, weights_ + at);
      round_to_bf16(dscore, dscores_ + at);
      return dscore;
    };
    uint32_t* pairs = dscore_pairs_ + column;
    for (int64_t key = 0; key < keys; key += 2, pairs += kQueryBlock) {
      const __m512 first = take_key(key), second = key + 1 < keys ? take_key(key + 1) : _mm512_setzero_ps();
      _mm512_storeu_si512(pairs, round_to_pairs(first, second));
    }
  }

  /// factor * row, or that added to what is there, from element `offset` of the slot on.
  void store_gradient_row(const float* row, float factor, const GradientSlot& slot, int64_t offset) const {
    for (int64_t d = 0; d < size_; d += kLanes) {
      const __mmask16 mask = first_of_16(size_ - d);
      __m512 value = _mm512_mul_ps(_mm512_loadu_ps(row + d), _mm512_set1_ps(factor));
      if (slot.tensor.dtype() == DType::bf16) {
        bf16* target = slot.tensor.data<bf16>() + offset + d;
        if (slot.accumulate) {
          const __m512i bits = _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(mask, target));
          value = _mm512_add_ps(value, _mm512_castsi512_ps(_mm512_slli_epi32(bits, 16)));
        }
        _mm256_mask_storeu_epi16(target, mask, (__m256i)_mm512_cvtneps_pbh(value));
      } else {
        float* target = slot.tensor.data<float>() + offset + d;
        if (slot.accumulate) value = _mm512_add_ps(value, _mm512_maskz_loadu_ps(mask, target));
        _mm512_mask_storeu_ps(target, mask, value);
      }
    }
  }

  const op::AttentionGrad& op_;
  const AttentionSizes& sizes_;
  const GradientScratch& shared_;
  const int64_t b_, kh_, chunk_, size_, padded_, num_pairs_;
  float* const share_;
  ThreadScratch scratch_;
  uint32_t *const query_columns_, *const dy_columns_, *const query_rows_, *const dy_rows_, *const key_rows_;
  uint32_t *const key_copy_, *const value_copy_;
  float *const dk_, *const dv_, *const scores_, *const dweights_;
  uint16_t *const weights_, *const dscores_;
  uint32_t* const dscore_pairs_;
  float *const lse_, *const delta_;
  const std::vector<BlockRanges> blocks_;
  const BlockRanges* ranges_ = nullptr;
  PairFactor keys_{}, values_{};
  int32_t key_begin_ = 0, key_end_ = 0;
  int64_t row_begin_ = 0, row_end_ = 0;
};

}  // namespace

void compute_chunk_bf16(const op::AttentionGrad& op, const AttentionSizes& sizes, const GradientScratch& shared,
                        int64_t b, int64_t kh, int64_t chunk) {
  GradientChunkBf16(op, sizes, shared, b, kh, chunk).run();
}

}  // namespace owlet::cpu
OWLET_END_AVX512_BF16

#else

namespace owlet::cpu {
void compute_chunk_bf16(const op::AttentionGrad&, const AttentionSizes&, const GradientScratch&, int64_t, int64_t,
                        int64_t) {
  fail(ErrorKind::internal, "attention with bf16 dot products is not built for this processor");
}
}  // namespace owlet::cpu

#endif
