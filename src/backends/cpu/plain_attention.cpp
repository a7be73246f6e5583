// Textbook attention on the CPU: one query at a time, every probability kept. For teaching and comparison; training
// runs attention.cpp.
//
// y is computed from the probabilities before they are rounded to the element type that keeps them.
// Scratch of the backward: dk and dv in f32, (2, B, K, T, padded head size).
#include "backends/cpu/attention_ranges.hpp"
#include "backends/cpu/attention_scratch.hpp"
#include "backends/cpu/kernel_context.hpp"
#include "backends/cpu/kernels.hpp"
#include "backends/cpu/simd_targets.hpp"
#include "base/parallel_for.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/plain_attention.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
//
#include <numbers>

#include "backends/cpu/attention_blocks-inl.h"

HWY_BEFORE_NAMESPACE();
namespace owlet::cpu::HWY_NAMESPACE {

/// products[i] = <row, vectors[i]> for `count` vectors, `stride` apart.
template <typename T>
void multiply_by_rows(const float* row, const T* vectors, size_t stride, size_t count, size_t size, float* products) {
  for (size_t i = 0; i < count; ++i) {
    products[i] = sum_over(size, [&](size_t d, auto lanes) HWY_ATTR {
      return hn::Mul(load(lanes, row + d), load(lanes, vectors + i * stride + d));
    });
  }
}

/// values[0, count) become softmax(values / log2(e)).
void take_softmax(float* values, size_t count) {
  const V maximum = set(max_over(count, values));
  const float total = sum_over(count, [&](size_t i, auto lanes) HWY_ATTR {
    const V weight = power_of_two_real(hn::Sub(load(lanes, values + i), maximum));
    store(lanes, weight, values + i);
    return weight;
  });
  for_each_vector(count, [&](size_t i, auto lanes)
                             HWY_ATTR { store(lanes, hn::Div(load(lanes, values + i), set(total)), values + i); });
}

template <typename T>
void attend_plainly(const op::PlainAttention& op, const AttentionSizes& sizes, int64_t b, int64_t kh, int64_t row) {
  const auto size = static_cast<size_t>(sizes.head_size), padded = static_cast<size_t>(sizes.padded_size);
  const auto stride = static_cast<size_t>(sizes.key_stride());
  const KeyRange range = visible_keys(sizes, b, row / sizes.group);
  const auto count = static_cast<size_t>(range.last + 1 - range.first);
  ThreadScratch scratch(2 * padded + ThreadScratch::padded(count));
  float *query = scratch.take(padded), *sums = scratch.take(padded), *weights = scratch.take(count);

  const int64_t offset = sizes.query_offset(b, kh, row), first_key = sizes.key_offset(b, kh, range.first);
  load_row(op.q.data<T>() + offset, size, padded, op.scale * std::numbers::log2e_v<float>, query);
  multiply_by_rows(query, op.k.data<T>() + first_key, stride, count, size, weights);
  take_softmax(weights, count);

  T* probabilities = op.probabilities.data<T>() + sizes.lse_offset(b, kh, row) * sizes.keys;
  std::fill(probabilities, probabilities + sizes.keys, T(0.0f));
  for_each_vector(count, [&](size_t i, auto lanes)
                             HWY_ATTR { store(lanes, load(lanes, weights + i), probabilities + range.first + i); });
  std::fill(sums, sums + padded, 0.0f);
  add_weighted_rows(weights, op.v.data<T>() + first_key, stride, count, size, 1.0f, sums);
  for_each_vector(
      size, [&](size_t d, auto lanes) HWY_ATTR { store(lanes, load(lanes, sums + d), op.y.data<T>() + offset + d); });
}

void attend_plain_row(const op::PlainAttention& op, const AttentionSizes& sizes, int64_t b, int64_t kh, int64_t row) {
  if (op.q.dtype() == DType::bf16) {
    attend_plainly<bf16>(op, sizes, b, kh, row);
  } else {
    attend_plainly<float>(op, sizes, b, kh, row);
  }
}

/// target += factor * row.
HWY_INLINE void add_row(float factor, const float* row, size_t padded, float* target) {
  for (size_t d = 0; d < padded; d += num_lanes()) {
    store(Whole{}, hn::MulAdd(set(factor), load(Whole{}, row + d), load(Whole{}, target + d)), target + d);
  }
}

/// All gradients of one key/value head; dk and dv (T, padded head size) are scratch in f32.
template <typename T>
void compute_plain_gradients(const op::PlainAttentionGrad& op, const AttentionSizes& sizes, int64_t b, int64_t kh,
                             float* dk, float* dv) {
  const auto size = static_cast<size_t>(sizes.head_size), padded = static_cast<size_t>(sizes.padded_size);
  const auto stride = static_cast<size_t>(sizes.key_stride()), tokens = static_cast<size_t>(sizes.tokens);
  ThreadScratch scratch(3 * padded + 2 * ThreadScratch::padded(tokens));
  float *query = scratch.take(padded), *dy = scratch.take(padded), *dq = scratch.take(padded);
  float *weights = scratch.take(tokens), *dscores = scratch.take(tokens);
  std::memset(dk, 0, tokens * padded * sizeof(float));
  std::memset(dv, 0, tokens * padded * sizeof(float));
  const int64_t first_key = sizes.key_offset(b, kh, 0);
  for (int64_t row = 0; row < sizes.rows; ++row) {
    const int64_t offset = sizes.query_offset(b, kh, row);
    const auto count = static_cast<size_t>(row / sizes.group + 1);
    load_row(op.q.data<T>() + offset, size, padded, 1.0f, query);
    load_row(op.dy.data<T>() + offset, size, padded, 1.0f, dy);
    const T* probabilities = op.probabilities.data<T>() + sizes.lse_offset(b, kh, row) * sizes.keys;
    for_each_vector(count,
                    [&](size_t i, auto lanes) HWY_ATTR { store(lanes, load(lanes, probabilities + i), weights + i); });
    multiply_by_rows(dy, op.v.data<T>() + first_key, stride, count, size, dscores);
    const V delta = set(sum_over(count, [&](size_t i, auto lanes) HWY_ATTR {
      return hn::Mul(load(lanes, weights + i), load(lanes, dscores + i));
    }));
    for_each_vector(count, [&](size_t i, auto lanes) HWY_ATTR {
      const V difference = hn::Sub(load(lanes, dscores + i), delta);
      store(lanes, hn::Mul(load(lanes, weights + i), difference), dscores + i);
    });
    for (size_t s = 0; s < count; ++s) {
      add_row(weights[s], dy, padded, dv + s * padded);
      add_row(dscores[s], query, padded, dk + s * padded);
    }
    if (!op.dq.is_wanted()) continue;
    std::fill(dq, dq + padded, 0.0f);
    add_weighted_rows(dscores, op.k.data<T>() + first_key, stride, count, size, 1.0f, dq);
    store_row(dq, size, op.scale, op.dq, offset);
  }
  for (size_t s = 0; s < tokens; ++s) {
    const int64_t target = sizes.key_offset(b, kh, static_cast<int64_t>(s));
    if (op.dk.is_wanted()) store_row(dk + s * padded, size, op.scale, op.dk, target);
    if (op.dv.is_wanted()) store_row(dv + s * padded, size, 1.0f, op.dv, target);
  }
}

void compute_plain_head(const op::PlainAttentionGrad& op, const AttentionSizes& sizes, int64_t b, int64_t kh, float* dk,
                        float* dv) {
  if (op.q.dtype() == DType::bf16) {
    compute_plain_gradients<bf16>(op, sizes, b, kh, dk, dv);
  } else {
    compute_plain_gradients<float>(op, sizes, b, kh, dk, dv);
  }
}

}  // namespace owlet::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace owlet::cpu {

HWY_EXPORT(attend_plain_row);
HWY_EXPORT(compute_plain_head);

void run(const op::PlainAttention& op, KernelContext&) {
  constexpr int64_t kRowsPerRange = 16;
  const AttentionSizes sizes(op);
  parallel_for(sizes.batch * sizes.kv_heads * sizes.rows, kRowsPerRange, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t head = i / sizes.rows;
      HWY_DYNAMIC_DISPATCH(attend_plain_row)(op, sizes, head / sizes.kv_heads, head % sizes.kv_heads, i % sizes.rows);
    }
  });
}

size_t workspace_bytes(const op::PlainAttentionGrad& op) {
  const AttentionSizes sizes(op);
  return static_cast<size_t>(2 * sizes.batch * sizes.kv_heads * sizes.tokens * sizes.padded_size) * sizeof(float);
}

void run(const op::PlainAttentionGrad& op, KernelContext& kernel) {
  const AttentionSizes sizes(op);
  const size_t scratch_bytes = workspace_bytes(op);
  if (scratch_bytes == 0) return;
  const BufferHandle scratch = kernel.scratch(scratch_bytes);
  auto* floats = reinterpret_cast<float*>(scratch->data);
  const int64_t matrix = sizes.tokens * sizes.padded_size;
  parallel_for(sizes.batch * sizes.kv_heads, 1, [&](int64_t begin, int64_t end) {
    for (int64_t head = begin; head < end; ++head) {
      float* dk = floats + 2 * head * matrix;
      HWY_DYNAMIC_DISPATCH(compute_plain_head)
      (op, sizes, head / sizes.kv_heads, head % sizes.kv_heads, dk, dk + matrix);
    }
  });
}

}  // namespace owlet::cpu
#endif
