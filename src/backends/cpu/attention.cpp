// Attention on the CPU, forward. A block of 64 queries walks over blocks of 64 keys with a running maximum and a
// running sum (online softmax, Milakov and Gimelshein, arXiv:1805.02867), everything in f32.
//
// Scores stand as (key, query): vectors run along the queries, so that maxima and sums need no sums across lanes, and
// queries are transposed once per block instead of keys once per pair of blocks. Scores are in units of log 2 (the
// queries carry the factor), so that the exponential is 2^x.
//
// Few queries per key/value head (generation of single tokens) go another way: one dot product per key.
#include "backends/cpu/attention_bf16.hpp"
#include "backends/cpu/attention_ranges.hpp"
#include "backends/cpu/attention_scratch.hpp"
#include "backends/cpu/instruction_set.hpp"
#include "backends/cpu/kernels.hpp"
#include "backends/cpu/simd_targets.hpp"
#include "base/parallel_for.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/attention.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
//
#include <cmath>
#include <limits>
#include <numbers>

#include "backends/cpu/attention_blocks-inl.h"

HWY_BEFORE_NAMESPACE();
namespace owlet::cpu::HWY_NAMESPACE {

/// A finite number below every score: where nothing was seen, differences of maxima must not be NaN.
inline constexpr float kLowest = std::numeric_limits<float>::lowest();

/// One block of queries of one key/value head on its way over the keys.
template <typename T>
class QueryBlock {
 public:
  QueryBlock(const op::Attention& op, const AttentionSizes& sizes, int64_t b, int64_t kh, int64_t block)
      : op_(op),
        sizes_(sizes),
        b_(b),
        kh_(kh),
        begin_(block * kQueryBlock),
        end_(std::min(begin_ + kQueryBlock, sizes.rows)),
        columns_(static_cast<size_t>(round_up(end_ - begin_, static_cast<int64_t>(num_lanes())))),
        size_(static_cast<size_t>(sizes.head_size)),
        padded_(static_cast<size_t>(sizes.padded_size)),
        ranges_(sizes, b, begin_, end_),
        scratch_(kBlock * (kBlock + 4 * padded_ + 3)),
        queries_(scratch_.take(padded_ * kBlock)),
        scores_(scratch_.take(kBlock * kBlock)),
        keys_(scratch_.take(kBlock * padded_)),
        values_(scratch_.take(kBlock * padded_)),
        sums_(scratch_.take(kBlock * padded_)),
        maxima_(scratch_.take(kBlock)),
        totals_(scratch_.take(kBlock)),
        scales_(scratch_.take(kBlock)) {}

  void run() {
    load_queries(sizes_, op_.q.data<T>(), b_, kh_, begin_, end_, op_.scale * std::numbers::log2e_v<float>, sums_);
    transpose(sums_, padded_, columns_, size_, queries_);
    std::memset(sums_, 0, kBlock * padded_ * sizeof(float));
    std::fill(maxima_, maxima_ + kBlock, kLowest);
    std::fill(totals_, totals_ + kBlock, 0.0f);
    const int32_t past_last = ranges_.all.last_max + 1;
    for (int32_t key = ranges_.all.first_min; key < past_last; key += static_cast<int32_t>(kKeyBlock)) {
      key_begin_ = key;
      key_end_ = std::min(key + static_cast<int32_t>(kKeyBlock), past_last);
      compute_scores();
      for (size_t column = 0; column < columns_; column += num_lanes()) take_exponentials(column);
      add_values();
    }
    finish();
  }

 private:
  static constexpr auto kBlock = static_cast<size_t>(kQueryBlock);
  static_assert(kQueryBlock == kKeyBlock);

  size_t num_keys() const { return static_cast<size_t>(key_end_ - key_begin_); }

  /// The part of the key block that rows with these bounds see, as indices into the block.
  struct Part {
    size_t begin, end;
  };
  Part visible_part(const RangeBounds& bounds) const {
    if (!bounds.sees_any(key_begin_, key_end_)) return {0, 0};
    return {static_cast<size_t>(std::max(bounds.first_min, key_begin_) - key_begin_),
            static_cast<size_t>(std::min(bounds.last_max + 1, key_end_) - key_begin_)};
  }

  void compute_scores() {
    load_keys(op_.k.data<T>() + sizes_.key_offset(b_, kh_, key_begin_), static_cast<size_t>(sizes_.key_stride()),
              num_keys(), size_, padded_, keys_);
    for (size_t column = 0; column < columns_;) {
      const size_t vectors = tile_vectors((columns_ - column) / num_lanes());
      const size_t next = column + vectors * num_lanes();
      const RangeBounds bounds = ranges_.bounds(static_cast<int64_t>(column), static_cast<int64_t>(next));
      for (size_t key = 0; key < num_keys(); key += kTileRows) {
        const int32_t first_key = key_begin_ + static_cast<int32_t>(key);
        if (!bounds.sees_any(first_key, first_key + static_cast<int32_t>(kTileRows))) continue;
        multiply_vectors<Update::overwrite>(vectors, LeftFactor<false>{keys_ + key * padded_, padded_},
                                            queries_ + column, kBlock, size_, scores_ + key * kBlock + column, kBlock);
      }
      column = next;
    }
  }

  /// Scores of one vector of queries become weights relative to the new maximum; hidden keys get 0.
  void take_exponentials(size_t column) {
    const RangeBounds bounds = ranges_.bounds(static_cast<int64_t>(column), static_cast<int64_t>(column + num_lanes()));
    const Part part = visible_part(bounds);
    float* scores = scores_ + column;
    for (size_t key = 0; key < part.begin; ++key) store(Whole{}, zero(), scores + key * kBlock);
    for (size_t key = part.end; key < num_keys(); ++key) store(Whole{}, zero(), scores + key * kBlock);
    if (bounds.sees_all(key_begin_, key_end_)) {
      take_exponentials(column, part, [](size_t, V value, V) HWY_ATTR { return value; });
    } else {
      const auto first = hn::LoadU(DI32(), ranges_.first.data() + column);
      const auto last = hn::LoadU(DI32(), ranges_.last.data() + column);
      take_exponentials(column, part, [&](size_t key, V value, V otherwise) HWY_ATTR {
        const auto index = hn::Set(DI32(), key_begin_ + static_cast<int32_t>(key));
        const auto is_hidden = hn::Or(hn::Lt(index, first), hn::Gt(index, last));
        return hn::IfThenElse(hn::RebindMask(DF(), is_hidden), otherwise, value);
      });
    }
  }

  /// `mask(key, value, otherwise)` replaces the value of hidden lanes.
  template <typename Mask>
  HWY_INLINE void take_exponentials(size_t column, Part part, const Mask& mask) {
    float* scores = scores_ + column;
    const V old_maximum = load(Whole{}, maxima_ + column);
    V maximum = old_maximum, maximum1 = old_maximum;
    size_t key = part.begin;
    for (; key + 2 <= part.end; key += 2) {
      maximum = hn::Max(maximum, mask(key, load(Whole{}, scores + key * kBlock), set(kLowest)));
      maximum1 = hn::Max(maximum1, mask(key + 1, load(Whole{}, scores + (key + 1) * kBlock), set(kLowest)));
    }
    if (key < part.end) maximum = hn::Max(maximum, mask(key, load(Whole{}, scores + key * kBlock), set(kLowest)));
    maximum = hn::Max(maximum, maximum1);
    const V scale = power_of_two_real(hn::Sub(old_maximum, maximum));
    V total = hn::Mul(load(Whole{}, totals_ + column), scale);
    for (key = part.begin; key < part.end; ++key) {
      float* score = scores + key * kBlock;
      const V weight = mask(key, power_of_two_real(hn::Sub(load(Whole{}, score), maximum)), zero());
      total = hn::Add(total, weight);
      store(Whole{}, weight, score);
    }
    store(Whole{}, maximum, maxima_ + column);
    store(Whole{}, total, totals_ + column);
    store(Whole{}, scale, scales_ + column);
  }

  void add_values() {
    load_keys(op_.v.data<T>() + sizes_.key_offset(b_, kh_, key_begin_), static_cast<size_t>(sizes_.key_stride()),
              num_keys(), size_, padded_, values_);
    for (size_t row = 0; row < static_cast<size_t>(end_ - begin_); row += kTileRows) {
      const Part part = visible_part(ranges_.bounds(static_cast<int64_t>(row), static_cast<int64_t>(row + kTileRows)));
      if (part.begin == part.end) continue;
      multiply_rows<Update::scale_and_add>(LeftFactor<true>{scores_ + part.begin * kBlock + row, kBlock},
                                           values_ + part.begin * padded_, padded_, part.end - part.begin,
                                           sums_ + row * padded_, padded_, padded_, scales_ + row);
    }
  }

  void finish() {
    for (int64_t row = begin_; row < end_; ++row) {
      const auto i = static_cast<size_t>(row - begin_);
      const V factor = set(1.0f / totals_[i]);
      const float* sums = sums_ + i * padded_;
      T* y = op_.y.data<T>() + sizes_.query_offset(b_, kh_, row);
      for_each_vector(
          size_, [&](size_t d, auto lanes) HWY_ATTR { store(lanes, hn::Mul(load(lanes, sums + d), factor), y + d); });
      op_.lse.template data<float>()[sizes_.lse_offset(b_, kh_, row)] =
          maxima_[i] * std::numbers::ln2_v<float> + std::log(totals_[i]);
    }
  }

  const op::Attention& op_;
  const AttentionSizes& sizes_;
  const int64_t b_, kh_, begin_, end_;
  const size_t columns_, size_, padded_;
  const BlockRanges ranges_;
  ThreadScratch scratch_;
  float *const queries_, *const scores_, *const keys_, *const values_, *const sums_;
  float *const maxima_, *const totals_, *const scales_;
  int32_t key_begin_ = 0, key_end_ = 0;
};

/// One query against all its keys.
template <typename T>
void attend_row(const op::Attention& op, const AttentionSizes& sizes, int64_t b, int64_t kh, int64_t row) {
  constexpr auto kBlock = static_cast<size_t>(kKeyBlock);
  const auto size = static_cast<size_t>(sizes.head_size), padded = static_cast<size_t>(sizes.padded_size);
  const auto stride = static_cast<size_t>(sizes.key_stride());
  ThreadScratch scratch(kBlock + 2 * padded);
  float *query = scratch.take(padded), *sums = scratch.take(padded), *scores = scratch.take(kBlock);
  const int64_t offset = sizes.query_offset(b, kh, row);
  load_row(op.q.data<T>() + offset, size, padded, op.scale * std::numbers::log2e_v<float>, query);
  std::fill(sums, sums + padded, 0.0f);
  float maximum = kLowest, total = 0;
  const KeyRange range = visible_keys(sizes, b, row / sizes.group);
  for (int64_t begin = range.first; begin <= range.last; begin += kKeyBlock) {
    const auto num_keys = static_cast<size_t>(std::min(kKeyBlock, range.last + 1 - begin));
    const T* keys = op.k.data<T>() + sizes.key_offset(b, kh, begin);
    std::fill(scores, scores + kBlock, -std::numeric_limits<float>::infinity());
    for (size_t key = 0; key < num_keys; ++key) {
      scores[key] = sum_over(size, [&](size_t d, auto lanes) HWY_ATTR {
        return hn::Mul(load(lanes, query + d), load(lanes, keys + key * stride + d));
      });
    }
    const float new_maximum = std::max(maximum, max_over(kBlock, scores));
    const float scale = hn::GetLane(power_of_two_real(set(maximum - new_maximum)));
    maximum = new_maximum;
    total = total * scale + sum_over(kBlock, [&](size_t key, auto lanes) HWY_ATTR {
              const V weight = power_of_two_real(hn::Sub(load(lanes, scores + key), set(maximum)));
              store(lanes, weight, scores + key);
              return weight;
            });
    add_weighted_rows(scores, op.v.data<T>() + sizes.key_offset(b, kh, begin), stride, num_keys, size, scale, sums);
  }
  T* y = op.y.data<T>() + offset;
  for_each_vector(size, [&](size_t d, auto lanes)
                            HWY_ATTR { store(lanes, hn::Mul(load(lanes, sums + d), set(1.0f / total)), y + d); });
  op.lse.data<float>()[sizes.lse_offset(b, kh, row)] = maximum * std::numbers::ln2_v<float> + std::log(total);
}

void attend_query_block(const op::Attention& op, const AttentionSizes& sizes, int64_t b, int64_t kh, int64_t block) {
  if (op.q.dtype() == DType::bf16) {
    QueryBlock<bf16>(op, sizes, b, kh, block).run();
  } else {
    QueryBlock<float>(op, sizes, b, kh, block).run();
  }
}

void attend_single_row(const op::Attention& op, const AttentionSizes& sizes, int64_t b, int64_t kh, int64_t row) {
  if (op.q.dtype() == DType::bf16) {
    attend_row<bf16>(op, sizes, b, kh, row);
  } else {
    attend_row<float>(op, sizes, b, kh, row);
  }
}

}  // namespace owlet::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace owlet::cpu {

HWY_EXPORT(attend_query_block);
HWY_EXPORT(attend_single_row);

namespace {
/// Up to this many rows per key/value head, dot products beat blocks, which would mostly hold padding.
constexpr int64_t kFewRows = 4;
}  // namespace

void run(const op::Attention& op, KernelContext&) {
  const AttentionSizes sizes(op);
  const bool has_few_rows = sizes.rows <= kFewRows;
  const bool uses_bf16_products = op.q.dtype() == DType::bf16 && has_bf16_products();
  const int64_t parts = has_few_rows ? sizes.rows : sizes.row_blocks();
  parallel_for(sizes.batch * sizes.kv_heads * parts, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      // The last blocks see the most keys: they come first, so that the threads end together.
      const int64_t part = parts - 1 - i % parts, b = i / parts / sizes.kv_heads, kh = i / parts % sizes.kv_heads;
      if (has_few_rows) {
        HWY_DYNAMIC_DISPATCH(attend_single_row)(op, sizes, b, kh, part);
      } else if (uses_bf16_products) {
        attend_query_block_bf16(op, sizes, b, kh, part);
      } else {
        HWY_DYNAMIC_DISPATCH(attend_query_block)(op, sizes, b, kh, part);
      }
    }
  });
}

}  // namespace owlet::cpu
#endif
