// C = A^T B with bf16 dot products: the gradient of a weight, which contracts over the tokens.
//
// Neither operand lies in the order that dot products want. Stretches of kPanelRows tokens are copied with the pairs of
// tokens side by side, small enough to stay in the caches; each element of C is then summed in registers over the whole
// stretch, so that C goes to memory and back once per stretch. oneDNN, which adds to C more often, is slower here by 5
// to 15 % where the operands come from memory (docs/performance.md).
#pragma once

#include <cstddef>

#include "backends/cpu/matmul.hpp"

namespace owlet::cpu {

/// Whether the product has this form, the processor dot products of bf16, and the shape the size where it pays.
bool multiplies_transposed(const MatrixProduct& product);

/// Whether multiply_transposed() can do the product, whatever its size.
bool can_multiply_transposed(const MatrixProduct& product);

/// Bytes of the workspace of multiply_transposed(); depends on the shape only.
size_t transposed_workspace_bytes(const MatrixProduct& product);

/// C (m, n) f32 = A^T B [+ C] with A (k, m) and B (k, n) bf16. `workspace` is aligned to 64. The same bits on any
/// number of threads. Throws Error internal on a processor without bf16 dot products.
void multiply_transposed(const MatrixProduct& product, const MatrixProductData& data, std::byte* workspace);

}  // namespace owlet::cpu
