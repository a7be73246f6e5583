// Matrix products, by oneDNN but for weight gradients (transposed_product.hpp), for the kernels that need them: C = A
// B, with everything in ordinary row-major memory.
//
//   const MatrixProduct product{.m = rows, .n = outputs, .k = inputs, .input_type = DType::bf16,
//                               .output_type = DType::f32, .b_is_transposed = true};
//   const BufferHandle workspace = kernel.scratch_or_none(workspace_bytes(product, kernel));
//   multiply(product, {x, weight, nullptr, y}, workspace ? workspace->data : nullptr, kernel);
//
// Operands need not be packed beforehand: with thousands of rows oneDNN's blocked kernels copy what they need and stay
// within 3 % of packed weights (measured at 4096 rows, widths 288 to 2048), also for the transposed left operand of a
// weight gradient. With 512 rows packed weights are a fifth faster: see pack_b.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/cpu/kernel_context.hpp"
#include "tensor/dtype.hpp"

namespace owlet::cpu {

/// C (m, n) = A (m, k) B (k, n) [+ bias (n)] [+ C]. Products are summed in f32.
struct MatrixProduct {
  int64_t m = 0, n = 0, k = 0;
  /// Element type of A and B: f32 or bf16.
  DType input_type = DType::f32;
  /// Element type of C: f32, or bf16 beside bf16.
  DType output_type = DType::f32;
  /// A is stored as (k, m), B as (n, k).
  bool a_is_transposed = false, b_is_transposed = false;
  /// Adds to C instead of overwriting it.
  bool accumulate = false;
  bool has_bias = false;
  /// B lies in oneDNN's own layout, as pack_b() leaves it. Pays where one B serves many products of few rows.
  bool b_is_packed = false;
  /// The m of the product whose layout B was packed in; 0: this one's.
  int64_t packed_for_m = 0;
  /// Elements from one stored row of A to the next; 0: the rows follow each other without gaps.
  int64_t a_row_stride = 0;

  auto operator<=>(const MatrixProduct&) const = default;
};

struct MatrixProductData {
  const void* a = nullptr;
  const void* b = nullptr;
  /// (n) f32, read where the product has a bias.
  const float* bias = nullptr;
  void* c = nullptr;
};

/// Bytes that multiply() needs as workspace. Depends on the instruction set and the number of threads.
size_t workspace_bytes(const MatrixProduct& product);
/// The same, from the products that this context has compiled before; for run(), where asking oneDNN takes too long.
size_t workspace_bytes(const MatrixProduct& product, KernelContext& kernel);

/// Whether products like this one can take a packed B under the chosen instruction set.
bool can_pack_b(const MatrixProduct& product);
/// Bytes of a packed B for `product`, whose b_is_packed is set. Depends on the instruction set and the threads.
size_t packed_bytes(const MatrixProduct& product);
/// The same, remembered by this context; for run().
size_t packed_bytes(const MatrixProduct& product, KernelContext& kernel);
/// Copies B, stored as the product would read it were b_is_packed not set, into its packed layout (aligned to 64).
/// Throws Error internal where oneDNN fails.
void pack_b(const MatrixProduct& product, const void* b, std::byte* packed, KernelContext& kernel);

/// Runs the product; `workspace` has workspace_bytes(product) bytes, aligned to 64. Under instruction sets without bf16
/// products the operands are widened to f32 inside the workspace. Throws Error internal where oneDNN fails.
void multiply(const MatrixProduct& product, const MatrixProductData& data, std::byte* workspace, KernelContext& kernel);

}  // namespace owlet::cpu
