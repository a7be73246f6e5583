// LinearCrossEntropy on the CPU. Per chunk of tokens: logits in f32, losses, then dlogits in their place (bf16 beside
// bf16, each row at the beginning of its f32 row), then this chunk's part of dx and dweight. The weight serves every
// chunk twice, so it is packed for both uses first where that takes little memory beside the logits.
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

/// Packed copies of the weight may take this many times the memory of a chunk's logits.
constexpr int64_t kPackedShare = 2;

/// Whether the weight is packed: several chunks use it, and both copies together stay within kPackedShare.
bool packs_weight(const op::LinearCrossEntropy& op) {
  const int64_t chunk_rows = std::min(op.chunk_rows, op.targets.num_elements());
  const auto logits_numbers = kPackedShare * chunk_rows * static_cast<int64_t>(sizeof(float));
  const auto packed_numbers = 2 * op.weight.dim(1) * static_cast<int64_t>(size_of(op.weight.dtype()));
  return chunk_rows < op.targets.num_elements() && packed_numbers <= logits_numbers &&
         can_pack_b({.m = chunk_rows, .n = op.weight.dim(0), .k = op.weight.dim(1), .input_type = op.x.dtype()});
}

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
  if (packs_weight(op)) {
    products.logits.b_is_packed = products.dx.b_is_packed = true;
    products.logits.packed_for_m = products.dx.packed_for_m = op.chunk_rows;
  }
  return products;
}

size_t logits_bytes(const op::LinearCrossEntropy& op, int64_t rows) {
  const size_t bytes = static_cast<size_t>(rows) * static_cast<size_t>(op.weight.dim(0)) * sizeof(float);
  return (bytes + 63) / 64 * 64;
}

/// Bytes of the weight packed for logits and for dx; 0 where it is used as it is.
struct PackedWeightBytes {
  size_t logits = 0, dx = 0;
};
/// `kernel`: null outside run().
PackedWeightBytes packed_weight_bytes(const op::LinearCrossEntropy& op, KernelContext* kernel) {
  if (!packs_weight(op)) return {};
  const ChunkProducts products = chunk_products(op, op.chunk_rows, true);
  const auto ask = [&](const MatrixProduct& product) {
    return kernel != nullptr ? packed_bytes(product, *kernel) : packed_bytes(product);
  };
  return {ask(products.logits), op.dx.is_wanted() ? ask(products.dx) : 0};
}

/// Scratch of the whole op: the packed weights, the logits of one chunk, then what the hungriest product needs.
/// `ask(product)` answers that for one product. There are up to three kinds of chunk: the first, those like it that add
/// to dweight, the last.
template <typename Ask>
size_t total_workspace(const op::LinearCrossEntropy& op, const PackedWeightBytes& packed, const Ask& ask) {
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
  return packed.logits + packed.dx + logits_bytes(op, chunk_rows) + most;
}

void check_targets(const op::LinearCrossEntropy& op) {
  const auto targets = op.targets.span<const int32_t>();
  for (size_t i = 0; i < targets.size(); ++i) {
    check(-1 <= targets[i] && targets[i] < op.weight.dim(0), ErrorKind::invalid_argument,
          "linear_cross_entropy: target {} at position {} is outside the vocabulary of {} (-1 = not scored)",
          targets[i], i, op.weight.dim(0));
  }
}

/// Where things stand in the workspace, and the weight as the two products read it.
struct ChunkMemory {
  const void* logits_weight = nullptr;
  const void* dx_weight = nullptr;
  float* logits = nullptr;
  std::byte* product_workspace = nullptr;
};

/// Lays out the workspace and packs the weight.
ChunkMemory prepare_memory(const op::LinearCrossEntropy& op, const PackedWeightBytes& packed, std::byte* workspace,
                           KernelContext& kernel) {
  const int64_t chunk_rows = std::min(op.chunk_rows, op.targets.num_elements());
  ChunkMemory memory{.logits_weight = op.weight.bytes(), .dx_weight = op.weight.bytes()};
  const ChunkProducts products = chunk_products(op, chunk_rows, true);
  if (packed.logits > 0) {
    pack_b(products.logits, op.weight.bytes(), workspace, kernel);
    memory.logits_weight = workspace;
  }
  if (packed.dx > 0) {
    pack_b(products.dx, op.weight.bytes(), workspace + packed.logits, kernel);
    memory.dx_weight = workspace + packed.logits;
  }
  memory.logits = reinterpret_cast<float*>(workspace + packed.logits + packed.dx);
  memory.product_workspace = workspace + packed.logits + packed.dx + logits_bytes(op, chunk_rows);
  return memory;
}

void run_chunk(const op::LinearCrossEntropy& op, int64_t begin, int64_t rows, const ChunkMemory& memory,
               KernelContext& kernel) {
  const ChunkProducts products = chunk_products(op, rows, begin == 0);
  const int64_t width = op.weight.dim(1);
  const std::byte* x = op.x.bytes() + static_cast<size_t>(begin * width) * size_of(op.x.dtype());
  multiply(products.logits, {x, memory.logits_weight, nullptr, memory.logits}, memory.product_workspace, kernel);
  parallel_for(rows, rows_per_range(op.weight.dim(0)), [&](int64_t row_begin, int64_t row_end) {
    HWY_DYNAMIC_DISPATCH(row_losses)
    (memory.logits, op.targets.data<int32_t>() + begin, op.losses.data<float>() + begin, op, row_begin, row_end);
  });
  if (op.dx.is_wanted()) {
    const Tensor& dx = op.dx.tensor;
    std::byte* target = dx.bytes() + static_cast<size_t>(begin * width) * size_of(dx.dtype());
    multiply(products.dx, {memory.logits, memory.dx_weight, nullptr, target}, memory.product_workspace, kernel);
  }
  if (op.dweight.is_wanted()) {
    multiply(products.dweight, {memory.logits, x, nullptr, op.dweight.tensor.bytes()}, memory.product_workspace,
             kernel);
  }
}

}  // namespace

size_t workspace_bytes(const op::LinearCrossEntropy& op) {
  return total_workspace(op, packed_weight_bytes(op, nullptr),
                         [](const MatrixProduct& product) { return workspace_bytes(product); });
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
  const PackedWeightBytes packed = packed_weight_bytes(op, &kernel);
  const BufferHandle workspace = kernel.scratch(
      total_workspace(op, packed, [&](const MatrixProduct& product) { return workspace_bytes(product, kernel); }));
  const int64_t chunk_rows = std::min(op.chunk_rows, num_rows);
  const ChunkMemory memory = prepare_memory(op, packed, workspace->data, kernel);
  for (int64_t begin = 0; begin < num_rows; begin += chunk_rows) {
    run_chunk(op, begin, std::min(chunk_rows, num_rows - begin), memory, kernel);
  }
}

}  // namespace owlet::cpu
#endif
