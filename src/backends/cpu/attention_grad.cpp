// Attention on the CPU, backward. Probabilities are computed again from lse, a block of 64 queries times 64 keys at a
// time.
//
// The unit of work is (batch row, key/value head, chunk of key blocks): it owns the gradients of its keys and values,
// and adds its share of dq to f32 scratch of its own. A last pass sums the chunks' shares in order. How many chunks
// there are depends on the shape only, so the bits do not depend on the number of threads.
//
// Scratch from the allocator: delta (B, K, rows) and the shares of dq (chunks, B, K, rows, padded head size), all f32.
#include "backends/cpu/attention_bf16.hpp"
#include "backends/cpu/attention_grad_scratch.hpp"
#include "backends/cpu/attention_ranges.hpp"
#include "backends/cpu/attention_scratch.hpp"
#include "backends/cpu/instruction_set.hpp"
#include "backends/cpu/kernel_context.hpp"
#include "backends/cpu/kernels.hpp"
#include "backends/cpu/simd_targets.hpp"
#include "base/parallel_for.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/attention_grad.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
//
#include <numbers>
#include <vector>

#include "backends/cpu/attention_blocks-inl.h"

HWY_BEFORE_NAMESPACE();
namespace owlet::cpu::HWY_NAMESPACE {

/// The work on one chunk of key blocks of one key/value head.
template <typename T>
class GradientChunk {
 public:
  GradientChunk(const op::AttentionGrad& op, const AttentionSizes& sizes, const GradientScratch& shared, int64_t b,
                int64_t kh, int64_t chunk)
      : op_(op),
        sizes_(sizes),
        shared_(shared),
        b_(b),
        kh_(kh),
        chunk_(chunk),
        size_(static_cast<size_t>(sizes.head_size)),
        padded_(static_cast<size_t>(sizes.padded_size)),
        share_(op.dq.is_wanted() ? shared.share(sizes, chunk, b, kh) : nullptr),
        scratch_(kBlock * (7 * padded_ + 2 * kBlock + 2)),
        queries_(scratch_.take(kBlock * padded_)),
        dy_(scratch_.take(kBlock * padded_)),
        keys_(scratch_.take(kBlock * padded_)),
        dk_(scratch_.take(kBlock * padded_)),
        dv_(scratch_.take(kBlock * padded_)),
        keys_transposed_(scratch_.take(kBlock * padded_)),
        values_transposed_(scratch_.take(kBlock * padded_)),
        weights_(scratch_.take(kBlock * kBlock)),
        dscores_(scratch_.take(kBlock * kBlock)),
        lse_(scratch_.take(kBlock)),
        delta_(scratch_.take(kBlock)),
        blocks_(all_block_ranges(sizes, b)) {}

  void run() {
    if (share_ != nullptr) std::memset(share_, 0, shared_.share_floats * sizeof(float));
    // Every num_chunks-th block, so that all chunks see early keys, which have many queries, and late ones.
    for (int64_t key = chunk_ * kKeyBlock; key < sizes_.keys; key += shared_.num_chunks * kKeyBlock) {
      key_begin_ = static_cast<int32_t>(key);
      key_end_ = static_cast<int32_t>(std::min(key + kKeyBlock, sizes_.keys));
      run_key_block();
    }
  }

 private:
  static constexpr auto kBlock = static_cast<size_t>(kKeyBlock);
  static_assert(kQueryBlock == kKeyBlock);

  size_t num_keys() const { return static_cast<size_t>(key_end_ - key_begin_); }

  void run_key_block() {
    const int64_t offset = sizes_.key_offset(b_, kh_, key_begin_);
    const auto stride = static_cast<size_t>(sizes_.key_stride());
    const auto rows = static_cast<size_t>(round_up(key_end_ - key_begin_, kFloatPadding));
    load_keys(op_.v.data<T>() + offset, stride, num_keys(), size_, padded_, keys_);
    transpose(keys_, padded_, rows, size_, values_transposed_);
    load_keys(op_.k.data<T>() + offset, stride, num_keys(), size_, padded_, keys_);
    transpose(keys_, padded_, rows, size_, keys_transposed_);
    std::memset(dk_, 0, kBlock * padded_ * sizeof(float));
    std::memset(dv_, 0, kBlock * padded_ * sizeof(float));
    for (int64_t block = 0; block < sizes_.row_blocks(); ++block) {
      ranges_ = &blocks_[static_cast<size_t>(block)];
      if (!ranges_->all.sees_any(key_begin_, key_end_)) continue;
      row_begin_ = block * kQueryBlock;
      row_end_ = std::min(row_begin_ + kQueryBlock, sizes_.rows);
      run_query_block();
    }
    for (int32_t key = key_begin_; key < key_end_; ++key) {
      const size_t row = static_cast<size_t>(key - key_begin_) * padded_;
      const int64_t target = sizes_.key_offset(b_, kh_, key);
      if (op_.dk.is_wanted()) store_row(dk_ + row, size_, op_.scale, op_.dk, target);
      if (op_.dv.is_wanted()) store_row(dv_ + row, size_, 1.0f, op_.dv, target);
    }
  }

  void run_query_block() {
    load_queries(sizes_, op_.q.data<T>(), b_, kh_, row_begin_, row_end_, 1.0f, queries_);
    load_queries(sizes_, op_.dy.data<T>(), b_, kh_, row_begin_, row_end_, 1.0f, dy_);
    const float* delta = shared_.delta + (b_ * sizes_.kv_heads + kh_) * sizes_.rows;
    for (int64_t row = row_begin_; row < row_end_; ++row) {
      const auto i = static_cast<size_t>(row - row_begin_);
      lse_[i] = op_.lse.template data<float>()[sizes_.lse_offset(b_, kh_, row)] * std::numbers::log2e_v<float>;
      delta_[i] = delta[row];
    }
    multiply_by_keys(queries_, keys_transposed_, weights_);
    multiply_by_keys(dy_, values_transposed_, dscores_);
    for (size_t row = 0; row < padded_query_rows(); ++row) take_exponentials(row);
    if (op_.dv.is_wanted()) add_to_keys(weights_, dy_, dv_);
    if (op_.dk.is_wanted()) add_to_keys(dscores_, queries_, dk_);
    if (share_ != nullptr) add_to_queries();
  }

  /// Rows of the query block up to a whole tile; those behind the last query are zero everywhere.
  size_t padded_query_rows() const {
    return static_cast<size_t>(round_up(row_end_ - row_begin_, static_cast<int64_t>(kTileRows)));
  }
  RangeBounds tile_bounds(size_t row) const {
    return ranges_->bounds(static_cast<int64_t>(row), static_cast<int64_t>(row + kTileRows));
  }

  /// products (query, key) = rows (query, d) times columns (d, key), where some query of the tile sees some key.
  void multiply_by_keys(const float* rows, const float* columns, float* products) {
    for (size_t key = 0; key < num_keys();) {
      const size_t vectors = tile_vectors((num_keys() - key + num_lanes() - 1) / num_lanes());
      const size_t next = key + vectors * num_lanes();
      const int32_t first = key_begin_ + static_cast<int32_t>(key), past = key_begin_ + static_cast<int32_t>(next);
      for (size_t row = 0; row < padded_query_rows(); row += kTileRows) {
        if (!tile_bounds(row).sees_any(first, past)) continue;
        multiply_vectors<Update::overwrite>(vectors, LeftFactor<false>{rows + row * padded_, padded_}, columns + key,
                                            kBlock, size_, products + row * kBlock + key, kBlock);
      }
      key = next;
    }
  }

  /// Scores of one query become probabilities, <dy, v> becomes the gradient of the score over scale; hidden keys get 0.
  void take_exponentials(size_t row) {
    const int32_t first = ranges_->first[row], last = ranges_->last[row];
    const V factor = set(op_.scale * std::numbers::log2e_v<float>), lse = set(lse_[row]), delta = set(delta_[row]);
    float *weights = weights_ + row * kBlock, *dscores = dscores_ + row * kBlock;
    for (size_t i = 0; i < num_keys(); i += num_lanes()) {
      const int32_t key = key_begin_ + static_cast<int32_t>(i), past = key + static_cast<int32_t>(num_lanes());
      V weight = zero(), dscore = zero();
      if (last >= key && first < past) {
        weight = power_of_two_real(hn::MulSub(load(Whole{}, weights + i), factor, lse));
        dscore = hn::Mul(weight, hn::Sub(load(Whole{}, dscores + i), delta));
        if (first > key || last < past - 1) {
          const auto keys = hn::Iota(DI32(), key);
          const auto is_hidden =
              hn::RebindMask(DF(), hn::Or(hn::Lt(keys, hn::Set(DI32(), first)), hn::Gt(keys, hn::Set(DI32(), last))));
          weight = hn::IfThenZeroElse(is_hidden, weight);
          dscore = hn::IfThenZeroElse(is_hidden, dscore);
        }
      }
      store(Whole{}, weight, weights + i);
      store(Whole{}, dscore, dscores + i);
    }
  }

  /// target (key, d) += factors (query, key) transposed times rows (query, d).
  void add_to_keys(const float* factors, const float* rows, float* target) {
    for (size_t key = 0; key < num_keys(); key += kTileRows) {
      const int32_t first = key_begin_ + static_cast<int32_t>(key), past = first + static_cast<int32_t>(kTileRows);
      size_t begin = 0, end = padded_query_rows();
      while (begin < end && !tile_bounds(begin).sees_any(first, past)) begin += kTileRows;
      while (begin < end && !tile_bounds(end - kTileRows).sees_any(first, past)) end -= kTileRows;
      if (begin == end) continue;
      multiply_rows<Update::add>(LeftFactor<true>{factors + begin * kBlock + key, kBlock}, rows + begin * padded_,
                                 padded_, end - begin, target + key * padded_, padded_, padded_);
    }
  }

  /// This chunk's share of dq (query, d) += dscores (query, key) times keys (key, d).
  void add_to_queries() {
    for (size_t row = 0; row < padded_query_rows(); row += kTileRows) {
      const RangeBounds bounds = tile_bounds(row);
      if (!bounds.sees_any(key_begin_, key_end_)) continue;
      const auto begin = static_cast<size_t>(std::max(bounds.first_min, key_begin_) - key_begin_);
      const auto end = static_cast<size_t>(std::min(bounds.last_max + 1, key_end_) - key_begin_);
      multiply_rows<Update::add>(LeftFactor<false>{dscores_ + row * kBlock + begin, kBlock}, keys_ + begin * padded_,
                                 padded_, end - begin, share_ + (static_cast<size_t>(row_begin_) + row) * padded_,
                                 padded_, padded_);
    }
  }

  const op::AttentionGrad& op_;
  const AttentionSizes& sizes_;
  const GradientScratch& shared_;
  const int64_t b_, kh_, chunk_;
  const size_t size_, padded_;
  float* const share_;
  ThreadScratch scratch_;
  float *const queries_, *const dy_, *const keys_, *const dk_, *const dv_;
  float *const keys_transposed_, *const values_transposed_, *const weights_, *const dscores_;
  float *const lse_, *const delta_;
  const std::vector<BlockRanges> blocks_;
  const BlockRanges* ranges_ = nullptr;
  int32_t key_begin_ = 0, key_end_ = 0;
  int64_t row_begin_ = 0, row_end_ = 0;
};

void compute_chunk(const op::AttentionGrad& op, const AttentionSizes& sizes, const GradientScratch& shared, int64_t b,
                   int64_t kh, int64_t chunk) {
  if (op.q.dtype() == DType::bf16) {
    GradientChunk<bf16>(op, sizes, shared, b, kh, chunk).run();
  } else {
    GradientChunk<float>(op, sizes, shared, b, kh, chunk).run();
  }
}

/// delta = <dy, y> of rows [begin, end) of (b, kh).
template <typename T>
void compute_delta_rows(const op::AttentionGrad& op, const AttentionSizes& sizes, const GradientScratch& shared,
                        int64_t b, int64_t kh, int64_t begin, int64_t end) {
  const RowOffsets offsets(sizes, b, kh, begin, end);
  for (int64_t row = begin; row < end; ++row) {
    const int64_t offset = offsets.query[static_cast<size_t>(row - begin)];
    const T *dy = op.dy.data<T>() + offset, *y = op.y.data<T>() + offset;
    shared.delta[(b * sizes.kv_heads + kh) * sizes.rows + row] =
        sum_over(static_cast<size_t>(sizes.head_size),
                 [&](size_t d, auto lanes) HWY_ATTR { return hn::Mul(load(lanes, dy + d), load(lanes, y + d)); });
  }
}

void compute_delta(const op::AttentionGrad& op, const AttentionSizes& sizes, const GradientScratch& shared, int64_t b,
                   int64_t kh, int64_t begin, int64_t end) {
  if (op.q.dtype() == DType::bf16) {
    compute_delta_rows<bf16>(op, sizes, shared, b, kh, begin, end);
  } else {
    compute_delta_rows<float>(op, sizes, shared, b, kh, begin, end);
  }
}

/// dq of rows [begin, end) of (b, kh) from the chunks' shares, which it overwrites.
void sum_shares(const op::AttentionGrad& op, const AttentionSizes& sizes, const GradientScratch& shared, int64_t b,
                int64_t kh, int64_t begin, int64_t end) {
  const auto size = static_cast<size_t>(sizes.head_size), padded = static_cast<size_t>(sizes.padded_size);
  float* sums = shared.share(sizes, 0, b, kh);
  const RowOffsets offsets(sizes, b, kh, begin, end);
  for (int64_t row = begin; row < end; ++row) {
    float* sum = sums + static_cast<size_t>(row) * padded;
    for (int64_t chunk = 1; chunk < shared.num_chunks; ++chunk) {
      const float* share = shared.share(sizes, chunk, b, kh) + static_cast<size_t>(row) * padded;
      for (size_t d = 0; d < padded; d += num_lanes()) {
        store(Whole{}, hn::Add(load(Whole{}, sum + d), load(Whole{}, share + d)), sum + d);
      }
    }
    store_row(sum, size, op.scale, op.dq, offsets.query[static_cast<size_t>(row - begin)]);
  }
}

}  // namespace owlet::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace owlet::cpu {

HWY_EXPORT(compute_chunk);
HWY_EXPORT(compute_delta);
HWY_EXPORT(sum_shares);

namespace {

/// Units of work that keep 16 threads busy, and how far one head is split at most: every chunk needs its share of dq.
constexpr int64_t kWantedUnits = 32;
constexpr int64_t kMaxChunks = 8;
/// More than any instruction set's tiles of rows need.
constexpr int64_t kRowPadding = 16;
constexpr int64_t kRowsPerRange = kQueryBlock;

}  // namespace

GradientScratch::GradientScratch(const op::AttentionGrad& op, const AttentionSizes& sizes) {
  const int64_t heads = std::max<int64_t>(sizes.batch * sizes.kv_heads, 1);
  const int64_t key_blocks = std::max<int64_t>((sizes.keys + kKeyBlock - 1) / kKeyBlock, 1);
  num_chunks = std::min({(kWantedUnits + heads - 1) / heads, kMaxChunks, key_blocks});
  padded_rows = round_up(sizes.rows, kRowPadding);
  delta_floats = static_cast<size_t>(round_up(sizes.batch * sizes.kv_heads * sizes.rows, kFloatPadding));
  if (op.dq.is_wanted()) share_floats = static_cast<size_t>(padded_rows * sizes.padded_size);
  const auto shares_count = static_cast<size_t>(num_chunks * sizes.batch * sizes.kv_heads);
  size_bytes = (delta_floats + shares_count * share_floats) * sizeof(float);
}

size_t workspace_bytes(const op::AttentionGrad& op) { return GradientScratch(op, AttentionSizes(op)).size_bytes; }

void run(const op::AttentionGrad& op, KernelContext& kernel) {
  const AttentionSizes sizes(op);
  GradientScratch shared(op, sizes);
  if (shared.size_bytes == 0) return;
  const BufferHandle memory = kernel.scratch(shared.size_bytes);
  shared.delta = reinterpret_cast<float*>(memory->data);
  shared.shares = shared.delta + shared.delta_floats;

  const int64_t heads = sizes.batch * sizes.kv_heads;
  const int64_t ranges = (sizes.rows + kRowsPerRange - 1) / kRowsPerRange;
  // body(b, kh, first row, row behind the last) over all rows.
  const auto for_rows = [&](const auto& body) {
    parallel_for(heads * ranges, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t head = i / ranges, row = i % ranges * kRowsPerRange;
        body(head / sizes.kv_heads, head % sizes.kv_heads, row, std::min(row + kRowsPerRange, sizes.rows));
      }
    });
  };
  for_rows([&](int64_t b, int64_t kh, int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(compute_delta)(op, sizes, shared, b, kh, begin, end);
  });
  const bool uses_bf16_products = op.q.dtype() == DType::bf16 && has_bf16_products();
  parallel_for(heads * shared.num_chunks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t head = i / shared.num_chunks, b = head / sizes.kv_heads, kh = head % sizes.kv_heads;
      if (uses_bf16_products) {
        compute_chunk_bf16(op, sizes, shared, b, kh, i % shared.num_chunks);
      } else {
        HWY_DYNAMIC_DISPATCH(compute_chunk)(op, sizes, shared, b, kh, i % shared.num_chunks);
      }
    }
  });
  if (!op.dq.is_wanted()) return;
  for_rows([&](int64_t b, int64_t kh, int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(sum_shares)(op, sizes, shared, b, kh, begin, end);
  });
}

}  // namespace owlet::cpu
#endif
