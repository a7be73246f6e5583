// What an operation costs: the numbers of the roofline model.
#pragma once

#include "tensor/tensor.hpp"

namespace owlet {

/// Floating-point operations (a multiply-add counts two) and bytes that must move at least once between memory and the
/// processor. Source: Williams, Waterman, Patterson, "Roofline" (CACM 2009).
struct Cost {
  double flops = 0;
  double bytes_read = 0;
  double bytes_written = 0;

  Cost& operator+=(const Cost& other) {
    flops += other.flops;
    bytes_read += other.bytes_read;
    bytes_written += other.bytes_written;
    return *this;
  }
};

/// Where an operation leaves a gradient. `accumulate` says whether it adds to what is there or overwrites it;
/// an undefined tensor means that nobody wants this gradient.
struct GradientSlot {
  Tensor tensor;
  bool accumulate = false;

  bool is_wanted() const { return tensor.defined(); }
  /// Bytes an operation moves to fill the slot: accumulation reads as well.
  double bytes_read() const { return is_wanted() && accumulate ? static_cast<double>(tensor.size_bytes()) : 0.0; }
  double bytes_written() const { return is_wanted() ? static_cast<double>(tensor.size_bytes()) : 0.0; }
};

}  // namespace owlet
