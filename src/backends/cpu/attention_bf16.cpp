// Attention forward with bf16 dot products: the same walk of a block of 64 queries over blocks of keys as in
// attention.cpp. Scores stand as (key, query). Weights are rounded to bf16 for the product with v; their sum is taken
// before rounding. The result stands as (d, query) until the end.
//
// Weights are relative to a reference score of each query. Any reference gives the same softmax as long as nothing
// overflows, so it need not be the maximum: the first scores that a query sees set it, scores become weights while they
// are still in registers, and only where a score exceeds the reference by a factor of 2^kHeadroom is the block of keys
// done again with new references and everything before rescaled (FlashAttention-2's way, for each block).
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
/// How far, as a power of two, weights may grow: f32 sums of 2^40 times any number of keys stay finite.
constexpr float kHeadroom = 40;

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
        offsets_(sizes, b, kh, begin_, end_),
        scratch_(static_cast<size_t>(kQueryBlock * (2 * padded_ + padded_ + kQueryBlock + kQueryBlock / 2 + 5))),
        queries_(take_pairs(padded_ / 2 * kQueryBlock)),
        keys_(take_pairs(padded_ / 2 * kKeyBlock)),
        values_(take_pairs(padded_ * kKeyBlock / 2)),
        weights_(take_pairs(kKeyBlock / 2 * kQueryBlock)),
        scores_(take(kKeyBlock * kQueryBlock)),
        sums_(take(padded_ * kQueryBlock)),
        references_(take(kQueryBlock)),
        totals_(take(kQueryBlock)),
        scales_(take(kQueryBlock)),
        block_references_(take(kQueryBlock)),
        block_totals_(take(kQueryBlock)) {}

  void run() {
    const bf16* q = op_.q.data<bf16>();
    pack_columns([&](int64_t i) { return q + offsets_.query[static_cast<size_t>(i)]; }, end_ - begin_, size_, queries_);
    std::fill_n(sums_, padded_ * kQueryBlock, 0.0f);
    std::fill_n(references_, kQueryBlock, kLowest);
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
    const bool keeps_references = op_.scale > 0 && weigh_keys(keys, vectors);
    if (!keeps_references) {
      multiply<TileUpdate::overwrite>(keys, num_keys(), queries_ + column, kQueryBlock, num_pairs_, scores_ + column,
                                      kQueryBlock, vectors.columns());
      for (int64_t v = vectors.begin; v < vectors.end; ++v) take_exponentials(v);
    }
    const bf16* values = op_.v.data<bf16>() + offset;
    pack_rows([&](int64_t i) { return values + i * stride; }, num_keys(), size_, padded_, values_);
    const PairFactor columns_of_v{values_, sizeof(uint32_t), padded_ * static_cast<int64_t>(sizeof(uint32_t))};
    const auto add_values = [&]<TileUpdate kUpdate>() {
      multiply<kUpdate>(columns_of_v, size_, weights_ + column, kQueryBlock, (num_keys() + 1) / 2, sums_ + column,
                        kQueryBlock, vectors.columns(), scales_ + column);
    };
    keeps_references ? add_values.template operator()<TileUpdate::add>()
                     : add_values.template operator()<TileUpdate::scale_and_add>();
  }

  /// Weights of the block's keys relative to the references there are. False, and nothing is changed but weights_,
  /// where a score is too high for its reference.
  bool weigh_keys(PairFactor keys, VectorRange vectors) {
    std::copy_n(references_, kQueryBlock, block_references_);
    std::copy_n(totals_, kQueryBlock, block_totals_);
    const bool is_whole = ranges_.bounds(vectors.begin * kLanes, vectors.end * kLanes).sees_all(key_begin_, key_end_);
    const bool fits = is_whole ? weigh_vectors<false>(keys, vectors) : weigh_vectors<true>(keys, vectors);
    if (!fits) return false;
    std::copy_n(block_references_, kQueryBlock, references_);
    std::copy_n(block_totals_, kQueryBlock, totals_);
    return true;
  }

  template <bool kMasked>
  bool weigh_vectors(PairFactor keys, VectorRange vectors) {
    switch (vectors.end - vectors.begin) {
      case 4:
        return weigh_rows<6, 4, kMasked>(keys, vectors.begin);
      case 3:
        return weigh_rows<8, 3, kMasked>(keys, vectors.begin);
      case 2:
        return weigh_rows<12, 2, kMasked>(keys, vectors.begin);
      default:
        return weigh_rows<16, 1, kMasked>(keys, vectors.begin);
    }
  }

  template <int kRows, int kVectors, bool kMasked>
  bool weigh_rows(PairFactor keys, int64_t vector) {
    int64_t key = 0;
    const auto run = [&]<int kTile>() {
      for (; key + kTile <= num_keys(); key += kTile) {
        if (!weigh_tile<kTile, kVectors, kMasked>(keys, vector, key)) return false;
      }
      return true;
    };
    return run.template operator()<kRows>() && run.template operator()<4>() && run.template operator()<2>() &&
           run.template operator()<1>();
  }

  /// kRows keys from `key` on (even, as is kRows but for the last key) and kVectors vectors of queries.
  template <int kRows, int kVectors, bool kMasked>
  bool weigh_tile(PairFactor keys, int64_t vector, int64_t key) {
    __m512 scores[kRows][kVectors];
    multiply_in_registers(keys.from_row(key), queries_ + vector * kLanes, kQueryBlock, num_pairs_, scores);
    const __m512 factor = _mm512_set1_ps(op_.scale * std::numbers::log2e_v<float>), lowest = _mm512_set1_ps(kLowest);
    __mmask16 too_high = 0;
#pragma GCC unroll 4
    for (int j = 0; j < kVectors; ++j) {
      const int64_t at = (vector + j) * kLanes;
      __mmask16 seen[kRows];
#pragma GCC unroll 16
      for (int i = 0; i < kRows; ++i) {
        seen[i] = __mmask16(0xffff);
        if constexpr (kMasked) {
          seen[i] = VisibleLanes(ranges_, vector + j).of(key_begin_ + static_cast<int32_t>(key) + i);
          scores[i][j] = _mm512_mask_mov_ps(lowest, seen[i], scores[i][j]);
        }
      }
      __m512 highest = scores[0][j];
#pragma GCC unroll 16
      for (int i = 1; i < kRows; ++i) highest = _mm512_max_ps(highest, scores[i][j]);
      highest = _mm512_mul_ps(highest, factor);
      const __m512 before = _mm512_loadu_ps(block_references_ + at);
      const __mmask16 is_first = _mm512_cmp_ps_mask(before, lowest, _CMP_EQ_OQ);
      const __m512 reference = _mm512_mask_max_ps(before, is_first, highest, lowest);
      _mm512_storeu_ps(block_references_ + at, reference);
      too_high |= _mm512_cmp_ps_mask(_mm512_sub_ps(highest, reference), _mm512_set1_ps(kHeadroom), _CMP_GT_OQ);
      __m512 total = _mm512_loadu_ps(block_totals_ + at);
      uint32_t* weights = weights_ + key / 2 * kQueryBlock + at;
#pragma GCC unroll 16
      for (int i = 0; i < kRows; i += 2, weights += kQueryBlock) {
        const auto weight = [&](int row) {
          const __m512 value = power_of_two(_mm512_fmsub_ps(scores[row][j], factor, reference));
          return kMasked ? _mm512_maskz_mov_ps(seen[row], value) : value;
        };
        const __m512 first = weight(i), second = i + 1 < kRows ? weight(i + 1) : _mm512_setzero_ps();
        total = _mm512_add_ps(total, _mm512_add_ps(first, second));
        _mm512_storeu_si512(weights, side_by_side(round_both(first, second)));
      }
      _mm512_storeu_ps(block_totals_ + at, total);
    }
    return too_high == 0;
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
    float *references = references_ + vector * kLanes, *totals = totals_ + vector * kLanes;
    const __m512 old_reference = _mm512_loadu_ps(references);
    __m512 maximum0 = old_reference, maximum1 = old_reference;
    int64_t key = 0;
    for (; key + 2 <= keys; key += 2) {
      maximum0 = _mm512_max_ps(maximum0, _mm512_mask_mul_ps(lowest, mask(key), score(key), factor));
      maximum1 = _mm512_max_ps(maximum1, _mm512_mask_mul_ps(lowest, mask(key + 1), score(key + 1), factor));
    }
    if (key < keys) maximum0 = _mm512_max_ps(maximum0, _mm512_mask_mul_ps(lowest, mask(key), score(key), factor));
    const __m512 maximum = _mm512_max_ps(maximum0, maximum1);
    const __m512 scale = power_of_two(_mm512_sub_ps(old_reference, maximum));
    const auto weight = [&](int64_t k) {
      return _mm512_maskz_mov_ps(mask(k), power_of_two(_mm512_fmsub_ps(score(k), factor, maximum)));
    };
    __m512 total0 = _mm512_mul_ps(_mm512_loadu_ps(totals), scale), total1 = _mm512_setzero_ps();
    uint32_t* weights = weights_ + vector * kLanes;
    for (key = 0; key < keys; key += 2, weights += kQueryBlock) {
      const __m512 weight0 = weight(key), weight1 = key + 1 < keys ? weight(key + 1) : _mm512_setzero_ps();
      total0 = _mm512_add_ps(total0, weight0);
      total1 = _mm512_add_ps(total1, weight1);
      _mm512_storeu_si512(weights, side_by_side(round_both(weight0, weight1)));
    }
    _mm512_storeu_ps(references, maximum);
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
          bf16* y = op_.y.data<bf16>() + offsets_.query[static_cast<size_t>(first + i)] + d;
          _mm256_mask_storeu_epi16(y, first_of_16(size_ - d), (__m256i)_mm512_cvtneps_pbh(value));
        }
      }
    }
    store_lse();
  }

  void store_lse() {
    float* lse = op_.lse.data<float>();
    for (int64_t first = 0; first < end_ - begin_; first += kLanes) {
      const __m512 reference =
          _mm512_mul_ps(_mm512_loadu_ps(references_ + first), _mm512_set1_ps(std::numbers::ln2_v<float>));
      alignas(64) float values[kLanes];
      _mm512_store_ps(values, _mm512_add_ps(reference, natural_log(_mm512_loadu_ps(totals_ + first))));
      const int64_t rows = std::min(kLanes, end_ - begin_ - first);
      for (int64_t i = 0; i < rows; ++i) lse[offsets_.lse[static_cast<size_t>(first + i)]] = values[i];
    }
  }

  const op::Attention& op_;
  const AttentionSizes& sizes_;
  const int64_t b_, kh_, begin_, end_, size_, padded_, num_pairs_;
  const BlockRanges ranges_;
  const RowOffsets offsets_;
  ThreadScratch scratch_;
  uint32_t *const queries_, *const keys_, *const values_, *const weights_;
  float *const scores_, *const sums_, *const references_, *const totals_, *const scales_;
  float *const block_references_, *const block_totals_;
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
