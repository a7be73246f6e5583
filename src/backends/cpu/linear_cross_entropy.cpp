// LinearCrossEntropy on the CPU. Per chunk of tokens: logits in f32, losses, then dlogits in their place (bf16 beside
// bf16, each row at the beginning of its f32 row), then this chunk's part of dx and dweight.
#include <algorithm>
#include <cmath>

#include "backends/cpu/kernel_context.hpp"
#include "backends/cpu/kernels.hpp"
#include "backends/cpu/matmul.hpp"
#include "backends/cpu/simd_targets.hpp"
#include "base/error.hpp"
#include "base/parallel_for.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/linear_cross_entropy.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
//
#include "backends/cpu/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace owlet::cpu::HWY_NAMESPACE {

/// The logits' exponentials, relative to the largest, in their place; returns their sum.
float exponentiate_row(float* logits, float largest, size_t vocabulary) {
  const V shift = set(largest);
  return sum_over(vocabulary, [&](size_t i, auto lanes) HWY_ATTR {
    const V value = exp(hn::Sub(load(lanes, logits + i), shift));
    store(lanes, value, logits + i);
    return value;
  });
}

/// Turns one row's exponentials into factor * (softmax - onehot(target)) at the row's beginning. An element of T is
/// never longer than the exponentials before it that have been read already.
template <typename T>
void dlogits_row(float* exponentials, float sum, int32_t target, float factor, size_t vocabulary) {
  T* dlogits = reinterpret_cast<T*>(exponentials);
  const float at_target = (exponentials[target] / sum - 1.0f) * factor;
  const V scale = set(factor / sum);
  for_each_vector(vocabulary, [&](size_t i, auto lanes) HWY_ATTR {
    store(lanes, hn::Mul(load(lanes, exponentials + i), scale), dlogits + i);
  });
  dlogits[target] = T(at_target);
}

/// The loss of a row; its logits are then exponentials, or, with gradients, dlogits.
template <typename T>
float row_loss(float* logits, int32_t target, float factor, bool wants_gradient, size_t vocabulary) {
  if (target < 0) {
    if (wants_gradient) std::fill_n(reinterpret_cast<T*>(logits), vocabulary, T(0.0f));
    return 0.0f;
  }
  const float largest = max_over(vocabulary, logits);
  const float target_logit = logits[target];
  const float sum = exponentiate_row(logits, largest, vocabulary);
  if (wants_gradient) dlogits_row<T>(logits, sum, target, factor, vocabulary);
  return std::log(sum) + (largest - target_logit);
}

void row_losses(float* logits, const int32_t* targets, float* losses, const op::LinearCrossEntropy& op, int64_t begin,
                int64_t end) {
  const int64_t vocabulary = op.weight.dim(0);
  const auto width = static_cast<size_t>(vocabulary);
  const bool wants_gradient = op.dx.is_wanted() || op.dweight.is_wanted();
  for (int64_t n = begin; n < end; ++n) {
    float* row = logits + n * vocabulary;
    losses[n] = op.x.dtype() == DType::bf16
                    ? row_loss<bf16>(row, targets[n], op.gradient_scale, wants_gradient, width)
                    : row_loss<float>(row, targets[n], op.gradient_scale, wants_gradient, width);
  }
}

}  // namespace owlet::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace owlet::cpu {

HWY_EXPORT(row_losses);

namespace {

/// The three products of a chunk of `rows` tokens.
struct ChunkProducts {
  MatrixProduct logits, dx, dweight;
};

/// `is_first`: the chunk that overwrites dweight unless the slot accumulates.
ChunkProducts chunk_products(const op::LinearCrossEntropy& op, int64_t rows, bool is_first) {
  const int64_t vocabulary = op.weight.dim(0), width = op.weight.dim(1);
  const DType type = op.x.dtype();
  // A bf16 row of dlogits stands where an f32 row of logits stood: twice as long.
  const int64_t dlogits_stride = type == DType::bf16 ? 2 * vocabulary : vocabulary;
  ChunkProducts products;
  products.logits = {.m = rows, .n = vocabulary, .k = width, .input_type = type, .b_is_transposed = true};
  products.dx = {.m = rows,
                 .n = width,
                 .k = vocabulary,
                 .input_type = type,
                 .output_type = op.dx.is_wanted() ? op.dx.tensor.dtype() : type,
                 .accumulate = op.dx.accumulate,
                 .a_row_stride = dlogits_stride};
  products.dweight = {.m = vocabulary,
                      .n = width,
                      .k = rows,
                      .input_type = type,
                      .a_is_transposed = true,
                      .accumulate = op.dweight.accumulate || !is_first,
                      .a_row_stride = dlogits_stride};
  return products;
}

size_t logits_bytes(const op::LinearCrossEntropy& op, int64_t rows) {
  const size_t bytes = static_cast<size_t>(rows) * static_cast<size_t>(op.weight.dim(0)) * sizeof(float);
  return (bytes + 63) / 64 * 64;
}

/// Scratch of the whole op: the logits of one chunk, then what the hungriest product needs. `ask(product)` answers that
/// for one product. There are up to three kinds of chunk: the first, those like it that add to dweight, the last.
template <typename Ask>
size_t total_workspace(const op::LinearCrossEntropy& op, const Ask& ask) {
  const int64_t num_rows = op.targets.num_elements(), chunk_rows = std::min(op.chunk_rows, num_rows);
  if (chunk_rows == 0) return 0;
  size_t most = 0;
  const auto consider = [&](int64_t rows, bool is_first) {
    const ChunkProducts products = chunk_products(op, rows, is_first);
    most = std::max(most, ask(products.logits));
    if (op.dx.is_wanted()) most = std::max(most, ask(products.dx));
    if (op.dweight.is_wanted()) most = std::max(most, ask(products.dweight));
  };
  consider(chunk_rows, true);
  if (num_rows >= 2 * chunk_rows) consider(chunk_rows, false);
  if (num_rows % chunk_rows != 0) consider(num_rows % chunk_rows, false);
  return logits_bytes(op, chunk_rows) + most;
}

void check_targets(const op::LinearCrossEntropy& op) {
  const auto targets = op.targets.span<const int32_t>();
  for (size_t i = 0; i < targets.size(); ++i) {
    check(-1 <= targets[i] && targets[i] < op.weight.dim(0), ErrorKind::invalid_argument,
          "linear_cross_entropy: target {} at position {} is outside the vocabulary of {} (-1 = not scored)",
          targets[i], i, op.weight.dim(0));
  }
}

void run_chunk(const op::LinearCrossEntropy& op, int64_t begin, int64_t rows, std::byte* workspace,
               std::byte* product_workspace, KernelContext& kernel) {
  const ChunkProducts products = chunk_products(op, rows, begin == 0);
  const int64_t width = op.weight.dim(1);
  const std::byte* x = op.x.bytes() + static_cast<size_t>(begin * width) * size_of(op.x.dtype());
  auto* logits = reinterpret_cast<float*>(workspace);
  multiply(products.logits, {x, op.weight.bytes(), nullptr, logits}, product_workspace, kernel);
  parallel_for(rows, rows_per_range(op.weight.dim(0)), [&](int64_t row_begin, int64_t row_end) {
    HWY_DYNAMIC_DISPATCH(row_losses)
    (logits, op.targets.data<int32_t>() + begin, op.losses.data<float>() + begin, op, row_begin, row_end);
  });
  if (op.dx.is_wanted()) {
    const Tensor& dx = op.dx.tensor;
    std::byte* target = dx.bytes() + static_cast<size_t>(begin * width) * size_of(dx.dtype());
    multiply(products.dx, {logits, op.weight.bytes(), nullptr, target}, product_workspace, kernel);
  }
  if (op.dweight.is_wanted()) {
    multiply(products.dweight, {logits, x, nullptr, op.dweight.tensor.bytes()}, product_workspace, kernel);
  }
}

}  // namespace

size_t workspace_bytes(const op::LinearCrossEntropy& op) {
  return total_workspace(op, [](const MatrixProduct& product) { return workspace_bytes(product); });
}

void run(const op::LinearCrossEntropy& op, KernelContext& kernel) {
  check_targets(op);
  const int64_t num_rows = op.targets.num_elements();
  if (num_rows == 0) {
    // Nothing to sum over: a product over zero tokens leaves dweight as an empty sum.
    if (op.dweight.is_wanted()) {
      multiply(chunk_products(op, 0, true).dweight, {nullptr, nullptr, nullptr, op.dweight.tensor.bytes()}, nullptr,
               kernel);
    }
    return;
  }
  const BufferHandle workspace = kernel.scratch(
      total_workspace(op, [&](const MatrixProduct& product) { return workspace_bytes(product, kernel); }));
  const int64_t chunk_rows = std::min(op.chunk_rows, num_rows);
  std::byte* product_workspace = workspace->data + logits_bytes(op, chunk_rows);
  for (int64_t begin = 0; begin < num_rows; begin += chunk_rows) {
    run_chunk(op, begin, std::min(chunk_rows, num_rows - begin), workspace->data, product_workspace, kernel);
  }
}

}  // namespace owlet::cpu
#endif
