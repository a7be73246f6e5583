// Linear and its gradients on the CPU: matrix products, and column sums of dy for the bias.
#include <algorithm>
#include <cstring>

#include "backends/cpu/kernel_context.hpp"
#include "backends/cpu/kernels.hpp"
#include "backends/cpu/matmul.hpp"
#include "backends/cpu/row_blocks.hpp"
#include "backends/cpu/simd_targets.hpp"
#include "base/parallel_for.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/linear.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
//
#include "backends/cpu/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace owlet::cpu::HWY_NAMESPACE {

template <typename T>
void add_rows_of(const Tensor& matrix, int64_t begin, int64_t end, float* sums) {
  const int64_t columns = matrix.columns();
  for (int64_t n = begin; n < end; ++n) {
    const T* row = matrix.data<T>() + n * columns;
    for_each_vector(static_cast<size_t>(columns), [&](size_t i, auto lanes) HWY_ATTR {
      store(lanes, hn::Add(load(lanes, sums + i), load(lanes, row + i)), sums + i);
    });
  }
}

/// sums (columns) += the rows [begin, end) of the matrix.
void add_rows(const Tensor& matrix, int64_t begin, int64_t end, float* sums) {
  if (matrix.dtype() == DType::bf16) return add_rows_of<bf16>(matrix, begin, end, sums);
  add_rows_of<float>(matrix, begin, end, sums);
}

}  // namespace owlet::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace owlet::cpu {

namespace {

MatrixProduct product_of(const op::Linear& op) {
  return {.m = op.y.rows(),
          .n = op.weight.dim(0),
          .k = op.weight.dim(1),
          .input_type = op.x.dtype(),
          .output_type = op.y.dtype(),
          .b_is_transposed = true,
          .has_bias = op.bias.defined()};
}

MatrixProduct product_of(const op::LinearInputGrad& op) {
  return {.m = op.dx.tensor.rows(),
          .n = op.weight.dim(1),
          .k = op.weight.dim(0),
          .input_type = op.dy.dtype(),
          .output_type = op.dx.tensor.dtype(),
          .accumulate = op.dx.accumulate};
}

MatrixProduct product_of(const op::LinearWeightGrad& op) {
  return {.m = op.dy.columns(),
          .n = op.x.columns(),
          .k = op.dy.rows(),
          .input_type = op.dy.dtype(),
          .output_type = op.dweight.tensor.dtype(),
          .a_is_transposed = true,
          .accumulate = op.dweight.accumulate};
}

std::byte* data_or_null(const BufferHandle& buffer) { return buffer ? buffer->data : nullptr; }

}  // namespace

HWY_EXPORT(add_rows);

size_t workspace_bytes(const op::Linear& op) { return workspace_bytes(product_of(op)); }

void run(const op::Linear& op, KernelContext& kernel) {
  const MatrixProduct product = product_of(op);
  const BufferHandle workspace = kernel.scratch_or_none(workspace_bytes(product, kernel));
  const float* bias = op.bias.defined() ? op.bias.data<float>() : nullptr;
  multiply(product, {op.x.bytes(), op.weight.bytes(), bias, op.y.bytes()}, data_or_null(workspace), kernel);
}

size_t workspace_bytes(const op::LinearInputGrad& op) {
  return op.dx.is_wanted() ? workspace_bytes(product_of(op)) : 0;
}

void run(const op::LinearInputGrad& op, KernelContext& kernel) {
  if (!op.dx.is_wanted()) return;
  const MatrixProduct product = product_of(op);
  const BufferHandle workspace = kernel.scratch_or_none(workspace_bytes(product, kernel));
  multiply(product, {op.dy.bytes(), op.weight.bytes(), nullptr, op.dx.tensor.bytes()}, data_or_null(workspace), kernel);
}

namespace {

/// One buffer serves the product first, then the column sums.
size_t weight_grad_workspace(const op::LinearWeightGrad& op, size_t product_bytes) {
  const size_t sums_bytes = op.dbias.is_wanted() ? RowBlocks(op.dy.rows()).scratch_bytes(op.dy.columns(), 1) : 0;
  return std::max(product_bytes, sums_bytes);
}

}  // namespace

size_t workspace_bytes(const op::LinearWeightGrad& op) {
  return weight_grad_workspace(op, op.dweight.is_wanted() ? workspace_bytes(product_of(op)) : 0);
}

void run(const op::LinearWeightGrad& op, KernelContext& kernel) {
  const size_t product_bytes = op.dweight.is_wanted() ? workspace_bytes(product_of(op), kernel) : 0;
  const BufferHandle workspace = kernel.scratch_or_none(weight_grad_workspace(op, product_bytes));
  if (op.dweight.is_wanted()) {
    multiply(product_of(op), {op.dy.bytes(), op.x.bytes(), nullptr, op.dweight.tensor.bytes()}, data_or_null(workspace),
             kernel);
  }
  if (!op.dbias.is_wanted()) return;
  const RowBlocks blocks(op.dy.rows());
  const int64_t columns = op.dy.columns();
  auto* sums = reinterpret_cast<float*>(data_or_null(workspace));
  parallel_for(op.dy.rows(), blocks.rows_per_block, [&](int64_t begin, int64_t end) {
    float* block_sums = sums + begin / blocks.rows_per_block * columns;
    std::memset(block_sums, 0, static_cast<size_t>(columns) * sizeof(float));
    HWY_DYNAMIC_DISPATCH(add_rows)(op.dy, begin, end, block_sums);
  });
  combine_blocks(sums, blocks.num_blocks, columns, columns, op.dbias);
}

}  // namespace owlet::cpu
#endif
