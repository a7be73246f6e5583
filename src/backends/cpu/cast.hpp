// Copies, and rounding between f32 and bf16, for kernels that need them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tensor/dtype.hpp"

namespace owlet::cpu {

/// target[i] = source[i] rounded to bf16, over the threads. `streams`: see streaming.hpp.
void narrow(const float* source, bf16* target, int64_t count, bool streams = false);
/// target[i] = source[i], exactly, over the threads.
void widen(const bf16* source, float* target, int64_t count, bool streams = false);
/// memcpy on the calling thread; past the caches where `streams`.
void copy_bytes(const std::byte* source, std::byte* target, size_t size, bool streams);

}  // namespace owlet::cpu
