// Rounding between f32 and bf16 for kernels that need a copy in the other type.
#pragma once

#include <cstdint>

#include "tensor/dtype.hpp"

namespace owlet::cpu {

/// target[i] = source[i] rounded to bf16, over the threads. `streams`: see streaming.hpp.
void narrow(const float* source, bf16* target, int64_t count, bool streams = false);
/// target[i] = source[i], exactly, over the threads.
void widen(const bf16* source, float* target, int64_t count, bool streams = false);

}  // namespace owlet::cpu
