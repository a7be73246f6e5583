// The speeds of computing that bound every kernel, measured by the plainest loops there are, on num_threads() threads
// at once. Each takes about `seconds` and returns the best of several rounds. Memory: measure_memory.hpp.
#pragma once

#include <cstdint>

namespace owlet {

/// Multiply-adds of float in registers with the widest vectors of this CPU, 10^9 FLOP/s (a multiply-add is two).
double measure_f32_gflops(double seconds);

/// The same for pairs of bfloat16 accumulated in float (vdpbf16ps); 0 where the CPU has no such instruction. Arm's
/// BFDOT is not measured: it gives 0 there.
double measure_bf16_gflops(double seconds);

/// Multiply-adds of unsigned by signed 8-bit integers into 32-bit ones (vpdpbusd), 10^9 operations/s (a multiply-add is
/// two); 0 where the CPU has no such instruction for its widest vectors.
double measure_int8_gops(double seconds);

}  // namespace owlet
