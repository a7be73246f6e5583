// Attention backward with bf16 dot products: the same units of work as in attention_grad.cpp. Scores and their
// gradients stand as (key, query); probabilities and score gradients are rounded to bf16 for the products that follow.
#include <algorithm>
#include <array>
#include <cstring>
#include <numbers>
#include <span>
#include <vector>

#include "backends/cpu/attention_bf16.hpp"
#include "backends/cpu/attention_scratch.hpp"
#include "base/error.hpp"

#if defined(__x86_64__)

#include "backends/cpu/attention_bf16-inl.h"

namespace owlet::cpu {
namespace {

constexpr int64_t kPairBytes = sizeof(uint32_t);
/// Blocks of keys that share what is made of a block of queries.
constexpr int64_t kGroupBlocks = 4;

/// A block of keys with the sums of its gradients.
struct KeyBlock {
  int32_t begin = 0, end = 0;
  PairFactor keys{}, values{};   // pairs along the head size
  uint32_t* key_rows = nullptr;  // pairs along the keys, (kKeyBlock / 2, padded head size)
  uint32_t *key_copy = nullptr, *value_copy = nullptr;
  float *dk = nullptr, *dv = nullptr;  // (kKeyBlock, padded head size)

  int64_t num_keys() const { return end - begin; }
};

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
        scratch_(static_cast<size_t>(kGroupBlocks * kKeyBlock * 7 * padded_ / 2 +
                                     kQueryBlock * (2 * padded_ + 3 * kKeyBlock / 2 + 2))),
        query_columns_(take_pairs(padded_ / 2 * kQueryBlock)),
        dy_columns_(take_pairs(padded_ / 2 * kQueryBlock)),
        query_rows_(take_pairs(kQueryBlock / 2 * padded_)),
        dy_rows_(take_pairs(kQueryBlock / 2 * padded_)),
        weights_(reinterpret_cast<uint16_t*>(take(kKeyBlock * kQueryBlock / 2))),
        dscores_(reinterpret_cast<uint16_t*>(take(kKeyBlock * kQueryBlock / 2))),
        dscore_pairs_(take_pairs(kKeyBlock / 2 * kQueryBlock)),
        lse_(take(kQueryBlock)),
        delta_(take(kQueryBlock)),
        blocks_(all_block_ranges(sizes, b)) {
    for (KeyBlock& block : group_) {
      block.key_rows = take_pairs(kKeyBlock / 2 * padded_);
      block.key_copy = take_pairs(kKeyBlock * padded_ / 2);
      block.value_copy = take_pairs(kKeyBlock * padded_ / 2);
      block.dk = take(kKeyBlock * padded_);
      block.dv = take(kKeyBlock * padded_);
    }
  }

  void run() {
    if (share_ != nullptr) std::memset(share_, 0, shared_.share_floats * sizeof(float));
    const int64_t step = shared_.num_chunks * kKeyBlock;
    for (int64_t key = chunk_ * kKeyBlock; key < sizes_.keys; key += kGroupBlocks * step) {
      group_size_ = 0;
      for (int64_t begin = key; begin < std::min(key + kGroupBlocks * step, sizes_.keys); begin += step) {
        load_keys(group_[static_cast<size_t>(group_size_)], begin);
        group_size_ += 1;
      }
      run_group();
    }
  }

 private:
  float* take(int64_t floats) { return scratch_.take(static_cast<size_t>(floats)); }
  uint32_t* take_pairs(int64_t pairs) { return reinterpret_cast<uint32_t*>(take(pairs)); }
  std::span<KeyBlock> group() { return {group_.data(), static_cast<size_t>(group_size_)}; }

  void load_keys(KeyBlock& block, int64_t begin) {
    block.begin = static_cast<int32_t>(begin);
    block.end = static_cast<int32_t>(std::min(begin + kKeyBlock, sizes_.keys));
    const int64_t offset = sizes_.key_offset(b_, kh_, begin), stride = sizes_.key_stride();
    const bf16 *k = op_.k.data<bf16>() + offset, *v = op_.v.data<bf16>() + offset;
    block.keys = rows_as_factor(k, stride, block.num_keys(), size_, block.key_copy);
    block.values = rows_as_factor(v, stride, block.num_keys(), size_, block.value_copy);
    if (share_ != nullptr) {
      pack_rows([&](int64_t i) { return k + i * stride; }, block.num_keys(), size_, padded_, block.key_rows);
    }
    std::fill_n(block.dk, kKeyBlock * padded_, 0.0f);
    std::fill_n(block.dv, kKeyBlock * padded_, 0.0f);
  }

  void run_group() {
    for (int64_t block = 0; block < sizes_.row_blocks(); ++block) {
      ranges_ = &blocks_[static_cast<size_t>(block)];
      row_begin_ = block * kQueryBlock;
      row_end_ = std::min(row_begin_ + kQueryBlock, sizes_.rows);
      bool is_loaded = false;
      for (KeyBlock& keys : group()) {
        if (!ranges_->all.sees_any(keys.begin, keys.end)) continue;
        if (!is_loaded) {
          load_queries();
          prefetch_queries(row_end_);
        }
        is_loaded = true;
        run_tile(keys);
      }
    }
    for (const KeyBlock& block : group()) {
      for (int64_t i = 0; i < block.num_keys(); ++i) {
        const int64_t target = sizes_.key_offset(b_, kh_, block.begin + i);
        if (op_.dk.is_wanted()) store_gradient_row(block.dk + i * padded_, op_.scale, op_.dk, target);
        if (op_.dv.is_wanted()) store_gradient_row(block.dv + i * padded_, 1.0f, op_.dv, target);
      }
    }
  }

  void prefetch_queries(int64_t first) const {
    const int64_t rows = std::min(kQueryBlock, sizes_.rows - first);
    if (rows <= 0) return;
    const RowOffsets offsets(sizes_, b_, kh_, first, first + rows);
    for (const Tensor* tensor : {&op_.q, &op_.dy}) {
      const bf16* data = tensor->data<bf16>();
      prefetch_rows([&](int64_t i) { return data + offsets.query[static_cast<size_t>(i)]; }, rows, size_);
    }
  }

  void load_queries() {
    const int64_t rows = row_end_ - row_begin_;
    const RowOffsets offsets(sizes_, b_, kh_, row_begin_, row_end_);
    const auto row_of = [&](const Tensor& tensor) {
      return [&offsets, data = tensor.data<bf16>()](int64_t i) { return data + offsets.query[static_cast<size_t>(i)]; };
    };
    pack_columns(row_of(op_.q), rows, size_, query_columns_);
    pack_columns(row_of(op_.dy), rows, size_, dy_columns_);
    if (op_.dk.is_wanted()) pack_query_rows(row_of(op_.q), query_rows_);
    if (op_.dv.is_wanted()) pack_query_rows(row_of(op_.dy), dy_rows_);
    const float* delta = shared_.delta + (b_ * sizes_.kv_heads + kh_) * sizes_.rows;
    for (int64_t i = 0; i < rows; ++i) {
      lse_[i] = op_.lse.data<float>()[offsets.lse[static_cast<size_t>(i)]] * std::numbers::log2e_v<float>;
      delta_[i] = delta[row_begin_ + i];
    }
    std::fill(lse_ + rows, lse_ + kQueryBlock, 0.0f);
    std::fill(delta_ + rows, delta_ + kQueryBlock, 0.0f);
  }

  /// Rows behind the last query become zero: their weights are not.
  template <typename Row>
  void pack_query_rows(const Row& row, uint32_t* target) {
    const int64_t rows = row_end_ - row_begin_, pairs = (rows + 1) / 2;
    pack_rows(row, rows, size_, padded_, target);
    std::fill_n(target + pairs * padded_, (kQueryBlock / 2 - pairs) * padded_, 0u);
  }

  /// The block of queries that is loaded and a block of keys: at once where every query sees every key.
  void run_tile(const KeyBlock& block) {
    const bool is_masked = !ranges_->all.sees_all(block.begin, block.end);
    const int32_t step = static_cast<int32_t>(is_masked ? kMaskedKeys : kKeyBlock);
    for (int32_t begin = block.begin; begin < block.end; begin += step) {
      const int32_t end = std::min(begin + step, block.end);
      const VectorRange vectors(*ranges_, begin, end);
      if (!vectors.is_empty()) run_part(block, begin - block.begin, end - begin, vectors);
    }
  }

  /// Keys [first, first + num_keys) of a block; first is even.
  void run_part(const KeyBlock& block, int64_t first, int64_t num_keys, VectorRange vectors) {
    const int64_t column = vectors.begin * kLanes, columns = vectors.columns();
    weigh(block, first, num_keys, vectors);
    const int64_t row_bytes = kQueryBlock * static_cast<int64_t>(sizeof(uint16_t));
    const auto add_to_keys = [&](const uint16_t* factors, const uint32_t* rows, float* target) {
      multiply<TileUpdate::add>({factors + column, row_bytes, kPairBytes}, num_keys, rows + column / 2 * padded_,
                                padded_, columns / 2, target + first * padded_, padded_, padded_);
    };
    if (op_.dv.is_wanted()) add_to_keys(weights_, dy_rows_, block.dv);
    if (op_.dk.is_wanted()) add_to_keys(dscores_, query_rows_, block.dk);
    if (share_ == nullptr) return;
    multiply<TileUpdate::add>({dscore_pairs_ + column, kPairBytes, kQueryBlock * kPairBytes}, columns,
                              block.key_rows + first / 2 * padded_, padded_, (num_keys + 1) / 2,
                              share_ + (row_begin_ + column) * padded_, padded_, padded_);
  }

  void weigh(const KeyBlock& block, int64_t first, int64_t num_keys, VectorRange vectors) {
    for (int64_t v = vectors.begin; v < vectors.end;) {
      const int64_t count = std::min<int64_t>(vectors.end - v, 2);
      const bool is_whole = ranges_->bounds(v * kLanes, (v + count) * kLanes)
                                .sees_all(block.begin + first, block.begin + first + num_keys);
      if (count == 2) {
        is_whole ? weigh_rows<6, 2, false>(block, first, num_keys, v)
                 : weigh_rows<6, 2, true>(block, first, num_keys, v);
      } else {
        is_whole ? weigh_rows<12, 1, false>(block, first, num_keys, v)
                 : weigh_rows<12, 1, true>(block, first, num_keys, v);
      }
      v += count;
    }
  }

  template <int kRows, int kVectors, bool kMasked>
  void weigh_rows(const KeyBlock& block, int64_t first, int64_t num_keys, int64_t vector) {
    int64_t key = 0;
    const auto run = [&]<int kTile>() {
      for (; key + kTile <= num_keys; key += kTile) {
        weigh_tile<kTile, kVectors, kMasked>(block, first + key, key, vector);
      }
    };
    run.template operator()<kRows>();
    run.template operator()<4>();
    run.template operator()<2>();
    run.template operator()<1>();
  }

  /// Probabilities, and the gradients of the scores over scale, of kRows keys (an even number, or the last one) from
  /// `key` of the block on and kVectors vectors of queries; hidden keys get 0. `row`: where the keys stand in weights_.
  template <int kRows, int kVectors, bool kMasked>
  void weigh_tile(const KeyBlock& block, int64_t key, int64_t row, int64_t vector) {
    const int64_t column = vector * kLanes;
    __m512 scores[kRows][kVectors], dweights[kRows][kVectors];
    multiply_both_in_registers(block.keys.from_row(key), query_columns_ + column, scores, block.values.from_row(key),
                               dy_columns_ + column, dweights, kQueryBlock, num_pairs_);
    const __m512 factor = _mm512_set1_ps(op_.scale * std::numbers::log2e_v<float>);
#pragma GCC unroll 2
    for (int j = 0; j < kVectors; ++j) {
      const int64_t at = row * kQueryBlock + column + j * kLanes;
      const __m512 lse = _mm512_loadu_ps(lse_ + column + j * kLanes);
      const __m512 delta = _mm512_loadu_ps(delta_ + column + j * kLanes);
      __m512 weights[kRows + kRows % 2], dscores[kRows + kRows % 2];
      if constexpr (kRows % 2 == 1) weights[kRows] = dscores[kRows] = _mm512_setzero_ps();
#pragma GCC unroll 16
      for (int i = 0; i < kRows; ++i) {
        weights[i] = power_of_two(_mm512_fmsub_ps(scores[i][j], factor, lse));
        dscores[i] = _mm512_mul_ps(weights[i], _mm512_sub_ps(dweights[i][j], delta));
        if constexpr (kMasked) {
          const __mmask16 seen = VisibleLanes(*ranges_, vector + j).of(block.begin + static_cast<int32_t>(key) + i);
          weights[i] = _mm512_maskz_mov_ps(seen, weights[i]);
          dscores[i] = _mm512_maskz_mov_ps(seen, dscores[i]);
        }
      }
#pragma GCC unroll 16
      for (int i = 0; i < kRows; i += 2) {
        const int64_t upper = at + i * kQueryBlock, lower = upper + kQueryBlock;
        const __m512i both = round_both(dscores[i], dscores[i + 1]);
        store_both(round_both(weights[i], weights[i + 1]), weights_ + upper, weights_ + lower);
        store_both(both, dscores_ + upper, dscores_ + lower);
        _mm512_storeu_si512(dscore_pairs_ + (row + i) / 2 * kQueryBlock + column + j * kLanes, side_by_side(both));
      }
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
  uint32_t *const query_columns_, *const dy_columns_, *const query_rows_, *const dy_rows_;
  uint16_t *const weights_, *const dscores_;
  uint32_t* const dscore_pairs_;
  float *const lse_, *const delta_;
  const std::vector<BlockRanges> blocks_;
  const BlockRanges* ranges_ = nullptr;
  std::array<KeyBlock, kGroupBlocks> group_;
  int64_t group_size_ = 0;
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
