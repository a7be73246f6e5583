// Attention forward with bf16 dot products: the same walk of a block of 64 queries over blocks of keys as in
// attention.cpp. Scores stand as (key, query). Weights are rounded to bf16 for the product with v; their sum is taken
// before rounding. The result stands as (d, query) until the end.
#include "backends/cpu/attention_bf16.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numbers>

#include "backends/cpu/attention_scratch.hpp"
#include "base/error.hpp"

#if defined(__x86_64__)

#include "backends/cpu/attention_bf16-inl.h"

namespace owlet::cpu {
namespace {

/// A finite number below every score: where nothing was seen, differences of maxima must not be NaN.
constexpr float kLowest = std::numeric_limits<float>::lowest();
/// Keys at a time where masks cut into the block: less of it is computed for nothing.
constexpr int64_t kMaskedKeys = 32;

class QueryBlockBf16 {
 public:
  QueryBlockBf16(const op::Attention& op, const AttentionSizes& sizes, int64_t b, int64_t kh, int64_t block)
      : op_(op),
        sizes_(sizes),
        b_(b),
        kh_(kh),
        begin_(block * kQueryBlock),
        end_(std::min(begin_ + kQueryBlock, sizes.rows)),
        size_(sizes.head_size),
        padded_(sizes.padded_size),
        num_pairs_((size_ + 1) / 2),
        ranges_(sizes, b, begin_, end_),
        scratch_(static_cast<size_t>(kQueryBlock * (2 * padded_ + padded_ + kQueryBlock + kQueryBlock / 2 + 3))),
        queries_(take_pairs(padded_ / 2 * kQueryBlock)),
        keys_(take_pairs(padded_ / 2 * kKeyBlock)),
        values_(take_pairs(padded_ * kKeyBlock / 2)),
        weights_(take_pairs(kKeyBlock / 2 * kQueryBlock)),
        scores_(take(kKeyBlock * kQueryBlock)),
        sums_(take(padded_ * kQueryBlock)),
        maxima_(take(kQueryBlock)),
        totals_(take(kQueryBlock)),
        scales_(take(kQueryBlock)) {}

  void run() {
    const bf16* q = op_.q.data<bf16>();
    pack_columns([&](int64_t i) { return q + sizes_.query_offset(b_, kh_, begin_ + i); }, end_ - begin_, size_,
                 queries_);
    std::fill_n(sums_, padded_ * kQueryBlock, 0.0f);
    std::fill_n(maxima_, kQueryBlock, kLowest);
    std::fill_n(totals_, kQueryBlock, 0.0f);
    const int32_t past_last = ranges_.all.last_max + 1;
    for (int32_t key = ranges_.all.first_min; key < past_last;) {
      const bool is_masked = !ranges_.all.sees_all(key, key + kKeyBlock);
      key_begin_ = key;
      key_end_ = std::min<int32_t>(key + static_cast<int32_t>(is_masked ? kMaskedKeys : kKeyBlock), past_last);
      take_keys(VectorRange(ranges_, key_begin_, key_end_));
      key = key_end_;
    }
    finish();
  }

 private:
  float* take(int64_t floats) { return scratch_.take(static_cast<size_t>(floats)); }
  uint32_t* take_pairs(int64_t pairs) { return reinterpret_cast<uint32_t*>(take(pairs)); }
  int64_t num_keys() const { return key_end_ - key_begin_; }

  void take_keys(VectorRange vectors) {
    if (vectors.is_empty()) return;
    const int64_t offset = sizes_.key_offset(b_, kh_, key_begin_), stride = sizes_.key_stride();
    const int64_t column = vectors.begin * kLanes;
    const PairFactor keys = rows_as_factor(op_.k.data<bf16>() + offset, stride, num_keys(), size_, keys_);
    multiply<TileUpdate::overwrite>(keys, num_keys(), queries_ + column, kQueryBlock, num_pairs_, scores_ + column,
                                    kQueryBlock, vectors.columns());
    for (int64_t v = vectors.begin; v < vectors.end; ++v) take_exponentials(v);
    const bf16* values = op_.v.data<bf16>() + offset;
    pack_rows([&](int64_t i) { return values + i * stride; }, num_keys(), size_, padded_, values_);
    const PairFactor columns_of_v{values_, sizeof(uint32_t), padded_ * static_cast<int64_t>(sizeof(uint32_t))};
    multiply<TileUpdate::scale_and_add>(columns_of_v, size_, weights_ + column, kQueryBlock, (num_keys() + 1) / 2,
                                        sums_ + column, kQueryBlock, vectors.columns(), scales_ + column);
  }

  void take_exponentials(int64_t vector) {
    if (ranges_.bounds(vector * kLanes, (vector + 1) * kLanes).sees_all(key_begin_, key_end_)) {
      take_exponentials(vector, [](int64_t) { return __mmask16(0xffff); });
    } else {
      const VisibleLanes visible(ranges_, vector);
      take_exponentials(vector, [&](int64_t key) { return visible.of(key_begin_ + static_cast<int32_t>(key)); });
    }
  }

  /// Scores of one vector of queries become weights relative to the new maximum, in pairs of keys; hidden keys get 0.
  template <typename Mask>
  void take_exponentials(int64_t vector, const Mask& mask) {
    const __m512 factor = _mm512_set1_ps(op_.scale * std::numbers::log2e_v<float>), lowest = _mm512_set1_ps(kLowest);
    const float* scores = scores_ + vector * kLanes;
    const int64_t keys = num_keys();
    const auto score = [&](int64_t key) { return _mm512_loadu_ps(scores + key * kQueryBlock); };
    float *maxima = maxima_ + vector * kLanes, *totals = totals_ + vector * kLanes;
    const __m512 old_maximum = _mm512_loadu_ps(maxima);
    __m512 maximum0 = old_maximum, maximum1 = old_maximum;
    int64_t key = 0;
    for (; key + 2 <= keys; key += 2) {
      maximum0 = _mm512_max_ps(maximum0, _mm512_mask_mul_ps(lowest, mask(key), score(key), factor));
      maximum1 = _mm512_max_ps(maximum1, _mm512_mask_mul_ps(lowest, mask(key + 1), score(key + 1), factor));
    }
    if (key < keys) maximum0 = _mm512_max_ps(maximum0, _mm512_mask_mul_ps(lowest, mask(key), score(key), factor));
    const __m512 maximum = _mm512_max_ps(maximum0, maximum1);
    const __m512 scale = power_of_two(_mm512_sub_ps(old_maximum, maximum));
    const auto weight = [&](int64_t k) {
      return _mm512_maskz_mov_ps(mask(k), power_of_two(_mm512_fmsub_ps(score(k), factor, maximum)));
    };
    __m512 total0 = _mm512_mul_ps(_mm512_loadu_ps(totals), scale), total1 = _mm512_setzero_ps();
    uint32_t* weights = weights_ + vector * kLanes;
    for (key = 0; key < keys; key += 2, weights += kQueryBlock) {
      const __m512 weight0 = weight(key), weight1 = key + 1 < keys ? weight(key + 1) : _mm512_setzero_ps();
      total0 = _mm512_add_ps(total0, weight0);
      total1 = _mm512_add_ps(total1, weight1);
      _mm512_storeu_si512(weights, round_to_pairs(weight0, weight1));
    }
    _mm512_storeu_ps(maxima, maximum);
    _mm512_storeu_ps(totals, _mm512_add_ps(total0, total1));
    _mm512_storeu_ps(scales_ + vector * kLanes, scale);
  }

  void finish() {
    for (int64_t first = 0; first < end_ - begin_; first += kLanes) {
      for (int64_t d = 0; d < size_; d += kLanes) {
        __m512i block[16];
#pragma GCC unroll 16
        for (int i = 0; i < 16; ++i) block[i] = _mm512_loadu_si512(sums_ + (d + i) * kQueryBlock + first);
        transpose_16(block);
        const int64_t rows = std::min(kLanes, end_ - begin_ - first);
        for (int64_t i = 0; i < rows; ++i) {
          const __m512 factor = _mm512_set1_ps(1.0f / totals_[first + i]);
          const __m512 value = _mm512_mul_ps(_mm512_castsi512_ps(block[i]), factor);
          bf16* y = op_.y.data<bf16>() + sizes_.query_offset(b_, kh_, begin_ + first + i) + d;
          _mm256_mask_storeu_epi16(y, first_of_16(size_ - d), (__m256i)_mm512_cvtneps_pbh(value));
        }
      }
    }
    for (int64_t row = begin_; row < end_; ++row) {
      const int64_t i = row - begin_;
      op_.lse.data<float>()[sizes_.lse_offset(b_, kh_, row)] =
          maxima_[i] * std::numbers::ln2_v<float> + std::log(totals_[i]);
    }
  }

  const op::Attention& op_;
  const AttentionSizes& sizes_;
  const int64_t b_, kh_, begin_, end_, size_, padded_, num_pairs_;
  const BlockRanges ranges_;
  ThreadScratch scratch_;
  uint32_t *const queries_, *const keys_, *const values_, *const weights_;
  float *const scores_, *const sums_, *const maxima_, *const totals_, *const scales_;
  int32_t key_begin_ = 0, key_end_ = 0;
};

}  // namespace

void attend_query_block_bf16(const op::Attention& op, const AttentionSizes& sizes, int64_t b, int64_t kh,
                             int64_t block) {
  QueryBlockBf16(op, sizes, b, kh, block).run();
}

}  // namespace owlet::cpu
OWLET_END_AVX512_BF16

#else

namespace owlet::cpu {
void attend_query_block_bf16(const op::Attention&, const AttentionSizes&, int64_t, int64_t, int64_t) {
  fail(ErrorKind::internal, "attention with bf16 dot products is not built for this processor");
}
}  // namespace owlet::cpu

#endif
