// How kernels store their results: which go past the caches into memory, and with which instructions.
#pragma once

#include <cstddef>

#include "ops/cost.hpp"
#include "tensor/tensor.hpp"

namespace owlet::cpu {

/// Bytes of the longest vector.
inline constexpr size_t kStreamAlignment = 64;

/// Results of at least this many bytes are streamed: nobody would find much of them in a cache.
size_t streamed_bytes();
/// For tests: replaces the limit for the whole process; 0 puts the usual one back.
void set_streamed_bytes(size_t bytes);

/// Whether a kernel that overwrites `result` front to back should stream it: large, and aligned as vectors are.
bool is_streamed(const Tensor& result);
/// Never where nobody wants the gradient, or the slot adds.
bool is_streamed(const GradientSlot& slot);

/// The same for a kernel that begins anew at each stretch of `stretch_bytes`: those must be aligned too.
template <typename Result>
bool is_streamed(const Result& result, size_t stretch_bytes) {
  return stretch_bytes % kStreamAlignment == 0 && is_streamed(result);
}
/// Bytes of one row of a tensor or slot.
inline size_t row_bytes(const Tensor& tensor) {
  return tensor.defined() ? static_cast<size_t>(tensor.columns()) * size_of(tensor.dtype()) : 0;
}
inline size_t row_bytes(const GradientSlot& slot) { return row_bytes(slot.tensor); }

/// How a kernel stores what it overwrites.
struct StoreMode {
  bool streams = false;
  /// Whether to use vcvtne2ps2bf16, which differs from round_to_bf16 in one thing: it makes denormal numbers zero.
  bool has_bf16_instruction = false;
};

}  // namespace owlet::cpu
