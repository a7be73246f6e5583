// LayerNorm and its gradient on the CPU. Rows are independent; the gradients of weight and bias sum over them by row
// blocks.
#include <cmath>
#include <cstring>

#include "backends/cpu/instruction_set.hpp"
#include "backends/cpu/kernel_context.hpp"
#include "backends/cpu/kernels.hpp"
#include "backends/cpu/row_blocks.hpp"
#include "backends/cpu/simd_targets.hpp"
#include "backends/cpu/streaming.hpp"
#include "base/parallel_for.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/layer_norm.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
//
#include "backends/cpu/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace owlet::cpu::HWY_NAMESPACE {

/// The variance takes a second pass over the row: mean(x^2) - mean^2 would cancel.
template <typename T>
void layer_norm_row(const op::LayerNorm& op, StoreMode mode, int64_t n) {
  const int64_t num_columns = op.x.columns();
  const auto columns = static_cast<size_t>(num_columns);
  const T* x = op.x.data<T>() + n * num_columns;
  T* y = op.y.data<T>() + n * num_columns;
  const float* weight = op.weight.data<float>();
  const float* bias = op.bias.defined() ? op.bias.data<float>() : nullptr;
  const float mean = sum_over(columns, [&](size_t i, auto lanes) HWY_ATTR { return load(lanes, x + i); }) /
                     static_cast<float>(columns);
  const V center = set(mean);
  const float sum = sum_over(columns, [&](size_t i, auto lanes) HWY_ATTR {
    const V distance = hn::Sub(load(lanes, x + i), center);
    return hn::Mul(distance, distance);
  });
  const float inv_std = 1.0f / std::sqrt(sum / static_cast<float>(columns) + op.eps);
  const V scale = set(inv_std);
  put_row(columns, mode, y, [&](size_t i, auto lanes) HWY_ATTR {
    const V xhat = hn::Mul(hn::Sub(load(lanes, x + i), center), scale);
    const V scaled = hn::Mul(xhat, load(lanes, weight + i));
    return bias == nullptr ? scaled : hn::Add(scaled, load(lanes, bias + i));
  });
  op.mean.data<float>()[n] = mean;
  op.inv_std.data<float>()[n] = inv_std;
}

void layer_norm_rows(const op::LayerNorm& op, StoreMode mode, int64_t begin, int64_t end) {
  for (int64_t n = begin; n < end; ++n) {
    op.x.dtype() == DType::bf16 ? layer_norm_row<bf16>(op, mode, n) : layer_norm_row<float>(op, mode, n);
  }
  flush(mode);
}

template <typename T>
void layer_norm_dx_row(const T* dy, const T* x, const float* weight, float mean, float inv_std,
                       const GradientTarget& dx, StoreMode mode, size_t columns) {
  const V center = set(mean), scale = set(inv_std);
  const float inverse_count = 1.0f / static_cast<float>(columns);
  const V mean_g = set(inverse_count * sum_over(columns, [&](size_t i, auto lanes) HWY_ATTR {
                         return hn::Mul(load(lanes, dy + i), load(lanes, weight + i));
                       }));
  const V mean_gx = set(inverse_count * sum_over(columns, [&](size_t i, auto lanes) HWY_ATTR {
                          const V xhat = hn::Mul(hn::Sub(load(lanes, x + i), center), scale);
                          return hn::Mul(hn::Mul(load(lanes, dy + i), load(lanes, weight + i)), xhat);
                        }));
  put_row(columns, mode, dx, [&](size_t i, auto lanes) HWY_ATTR {
    const V xhat = hn::Mul(hn::Sub(load(lanes, x + i), center), scale);
    const V g = hn::Mul(load(lanes, dy + i), load(lanes, weight + i));
    return hn::Mul(scale, hn::NegMulAdd(xhat, mean_gx, hn::Sub(g, mean_g)));
  });
}

/// dx of row n, and dweight_sums, dbias_sums (columns) += its share of those gradients (null: not wanted).
template <typename T>
void layer_norm_grad_row(const op::LayerNormGrad& op, StoreMode mode, int64_t n, float* dweight_sums,
                         float* dbias_sums) {
  const int64_t num_columns = op.x.columns();
  const auto columns = static_cast<size_t>(num_columns);
  const T* dy = op.dy.data<T>() + n * num_columns;
  const T* x = op.x.data<T>() + n * num_columns;
  const float mean = op.mean.data<float>()[n], inv_std = op.inv_std.data<float>()[n];
  const V center = set(mean), scale = set(inv_std);
  for_each_vector(columns, [&](size_t i, auto lanes) HWY_ATTR {
    const V g = load(lanes, dy + i);
    if (dweight_sums != nullptr) {
      const V xhat = hn::Mul(hn::Sub(load(lanes, x + i), center), scale);
      store(lanes, hn::MulAdd(g, xhat, load(lanes, dweight_sums + i)), dweight_sums + i);
    }
    if (dbias_sums != nullptr) store(lanes, hn::Add(g, load(lanes, dbias_sums + i)), dbias_sums + i);
  });
  const GradientTarget dx(op.dx, n * num_columns);
  if (dx.is_wanted()) layer_norm_dx_row(dy, x, op.weight.data<float>(), mean, inv_std, dx, mode, columns);
}

void layer_norm_grad_rows(const op::LayerNormGrad& op, StoreMode mode, int64_t begin, int64_t end, float* dweight_sums,
                          float* dbias_sums) {
  for (int64_t n = begin; n < end; ++n) {
    if (op.x.dtype() == DType::bf16) {
      layer_norm_grad_row<bf16>(op, mode, n, dweight_sums, dbias_sums);
    } else {
      layer_norm_grad_row<float>(op, mode, n, dweight_sums, dbias_sums);
    }
  }
  flush(mode);
}

}  // namespace owlet::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace owlet::cpu {

HWY_EXPORT(layer_norm_rows);
HWY_EXPORT(layer_norm_grad_rows);

void run(const op::LayerNorm& op, KernelContext&) {
  const StoreMode mode{is_streamed(op.y, row_bytes(op.y)), has_bf16_products()};
  parallel_sweep(op.x.rows(), rows_per_range(op.x.columns()), [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(layer_norm_rows)(op, mode, begin, end);
  });
}

size_t workspace_bytes(const op::LayerNormGrad& op) {
  const bool sums_rows = op.dweight.is_wanted() || op.dbias.is_wanted();
  return sums_rows ? RowBlocks(op.x.rows()).scratch_bytes(op.x.columns(), 2) : 0;
}

void run(const op::LayerNormGrad& op, KernelContext& kernel) {
  const RowBlocks blocks(op.x.rows());
  const int64_t columns = op.x.columns();
  const BufferHandle scratch = kernel.scratch_or_none(workspace_bytes(op));
  const StoreMode mode{is_streamed(op.dx, row_bytes(op.dx)), has_bf16_products()};
  auto* sums = scratch ? reinterpret_cast<float*>(scratch->data) : nullptr;  // per block: dweight, then dbias
  parallel_sweep(op.x.rows(), blocks.rows_per_block, [&](int64_t begin, int64_t end) {
    float* block_sums = nullptr;
    if (sums != nullptr) {
      block_sums = sums + begin / blocks.rows_per_block * 2 * columns;
      std::memset(block_sums, 0, static_cast<size_t>(2 * columns) * sizeof(float));
    }
    float* dweight_sums = op.dweight.is_wanted() ? block_sums : nullptr;
    float* dbias_sums = op.dbias.is_wanted() ? block_sums + columns : nullptr;
    HWY_DYNAMIC_DISPATCH(layer_norm_grad_rows)(op, mode, begin, end, dweight_sums, dbias_sums);
  });
  combine_blocks(sums, blocks.num_blocks, columns, 2 * columns, op.dweight);
  combine_blocks(sums == nullptr ? nullptr : sums + columns, blocks.num_blocks, columns, 2 * columns, op.dbias);
}

}  // namespace owlet::cpu
#endif
