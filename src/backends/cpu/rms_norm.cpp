// RmsNorm and its gradient on the CPU. Rows are independent; the weight's gradient sums over them by row blocks.
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
#define HWY_TARGET_INCLUDE "backends/cpu/rms_norm.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
//
#include "backends/cpu/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace owlet::cpu::HWY_NAMESPACE {

template <typename T>
void rms_norm_row(const T* x, const float* weight, T* y, float* inv_rms, float eps, size_t columns, StoreMode mode) {
  const float sum = sum_over(columns, [&](size_t i, auto lanes) HWY_ATTR {
    const V value = load(lanes, x + i);
    return hn::Mul(value, value);
  });
  *inv_rms = 1.0f / std::sqrt(sum / static_cast<float>(columns) + eps);
  const V scale = set(*inv_rms);
  put_row(columns, mode, y, [&](size_t i, auto lanes) HWY_ATTR {
    return hn::Mul(hn::Mul(load(lanes, x + i), scale), load(lanes, weight + i));
  });
}

template <typename T>
void rms_norm_rows_of(const op::RmsNorm& op, StoreMode mode, int64_t begin, int64_t end) {
  const int64_t columns = op.x.columns();
  for (int64_t n = begin; n < end; ++n) {
    rms_norm_row(op.x.data<T>() + n * columns, op.weight.data<float>(), op.y.data<T>() + n * columns,
                 op.inv_rms.data<float>() + n, op.eps, static_cast<size_t>(columns), mode);
  }
  flush(mode);
}

void rms_norm_rows(const op::RmsNorm& op, StoreMode mode, int64_t begin, int64_t end) {
  op.x.dtype() == DType::bf16 ? rms_norm_rows_of<bf16>(op, mode, begin, end)
                              : rms_norm_rows_of<float>(op, mode, begin, end);
}

template <typename T>
void rms_norm_dx_row(const T* dy, const T* x, const float* weight, float r, const GradientTarget& dx, size_t columns,
                     StoreMode mode) {
  const float dot = sum_over(columns, [&](size_t i, auto lanes) HWY_ATTR {
    return hn::Mul(hn::Mul(load(lanes, dy + i), load(lanes, weight + i)), load(lanes, x + i));
  });
  const V scale = set(r), pull = set(dot / static_cast<float>(columns) * r * r);
  put_row(columns, mode, dx, [&](size_t i, auto lanes) HWY_ATTR {
    const V g = hn::Mul(load(lanes, dy + i), load(lanes, weight + i));
    return hn::Mul(scale, hn::NegMulAdd(load(lanes, x + i), pull, g));
  });
}

/// dx of the rows [begin, end), and dweight_sums (columns) += their share of dweight (null: not wanted).
template <typename T>
void rms_norm_grad_rows_of(const op::RmsNormGrad& op, StoreMode mode, int64_t begin, int64_t end, float* dweight_sums) {
  const int64_t columns = op.x.columns();
  const auto width = static_cast<size_t>(columns);
  for (int64_t n = begin; n < end; ++n) {
    const T* dy = op.dy.data<T>() + n * columns;
    const T* x = op.x.data<T>() + n * columns;
    const float r = op.inv_rms.data<float>()[n];
    if (dweight_sums != nullptr) {
      const V scale = set(r);
      for_each_vector(width, [&](size_t i, auto lanes) HWY_ATTR {
        const V xhat = hn::Mul(load(lanes, x + i), scale);
        store(lanes, hn::MulAdd(load(lanes, dy + i), xhat, load(lanes, dweight_sums + i)), dweight_sums + i);
      });
    }
    const GradientTarget dx(op.dx, n * columns);
    if (dx.is_wanted()) rms_norm_dx_row(dy, x, op.weight.data<float>(), r, dx, width, mode);
  }
  flush(mode);
}

void rms_norm_grad_rows(const op::RmsNormGrad& op, StoreMode mode, int64_t begin, int64_t end, float* dweight_sums) {
  if (op.x.dtype() == DType::bf16) return rms_norm_grad_rows_of<bf16>(op, mode, begin, end, dweight_sums);
  rms_norm_grad_rows_of<float>(op, mode, begin, end, dweight_sums);
}

}  // namespace owlet::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace owlet::cpu {

HWY_EXPORT(rms_norm_rows);
HWY_EXPORT(rms_norm_grad_rows);

void run(const op::RmsNorm& op, KernelContext&) {
  const StoreMode mode{is_streamed(op.y, row_bytes(op.y)), has_bf16_products()};
  parallel_sweep(op.x.rows(), rows_per_range(op.x.columns()), [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(rms_norm_rows)(op, mode, begin, end);
  });
}

size_t workspace_bytes(const op::RmsNormGrad& op) {
  return op.dweight.is_wanted() ? RowBlocks(op.x.rows()).scratch_bytes(op.x.columns(), 1) : 0;
}

void run(const op::RmsNormGrad& op, KernelContext& kernel) {
  const RowBlocks blocks(op.x.rows());
  const int64_t columns = op.x.columns();
  const BufferHandle scratch = kernel.scratch_or_none(workspace_bytes(op));
  const StoreMode mode{is_streamed(op.dx, row_bytes(op.dx)), has_bf16_products()};
  auto* sums = scratch ? reinterpret_cast<float*>(scratch->data) : nullptr;
  parallel_sweep(op.x.rows(), blocks.rows_per_block, [&](int64_t begin, int64_t end) {
    float* block_sums = nullptr;
    if (sums != nullptr) {
      block_sums = sums + begin / blocks.rows_per_block * columns;
      std::memset(block_sums, 0, static_cast<size_t>(columns) * sizeof(float));
    }
    HWY_DYNAMIC_DISPATCH(rms_norm_grad_rows)(op, mode, begin, end, block_sums);
  });
  combine_blocks(sums, blocks.num_blocks, columns, columns, op.dweight);
}

}  // namespace owlet::cpu
#endif
