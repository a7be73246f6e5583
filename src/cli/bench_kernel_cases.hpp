// The operations that `owlet bench kernels` times, at the sizes of real trainings.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ops/any_op.hpp"
#include "ops/backend.hpp"

namespace owlet {

/// Sizes of one training, in the letters of the glossary.
struct KernelSizes {
  int64_t B = 0, T = 0, C = 0, F = 0, V = 0, H = 0;
  /// Whether only operations bound by memory are timed at this size.
  bool memory_bound_only = false;
};

/// One row to time. `dtype` is the type of its activations, or of what it casts, fills or updates.
struct KernelCase {
  std::string_view name;
  DType dtype = DType::f32;
  KernelSizes sizes;
  AnyOp (*make_with)(class KernelTensors& tensors, const KernelSizes& sizes, DType dtype) = nullptr;

  /// The operation with tensors of its own on `backend`. Throws Error out_of_memory.
  AnyOp make(Backend& backend) const;
};

/// Every operation in f32 and bf16: for stories-15m and stories-110m, and those bound by memory once more on 64 Mi
/// elements, far beyond all caches. `quick`: one tiny size.
std::vector<KernelCase> kernel_cases(bool quick);

/// The first two different shapes of an operation's tensors: "(8192, 288) (768, 288)".
std::string shape_of(const AnyOp& op);

}  // namespace owlet
