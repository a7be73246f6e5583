// Element types of tensors in ordinary memory: what lies between files and parameters.
#pragma once

#include "tensor/tensor.hpp"

namespace owlet {

/// `values` (in ordinary memory; f64, f32, bf16 or f16) rounded to `dtype` (f64, f32 or bf16); the same handle where
/// the type is already right. Throws Error unsupported for other types.
Tensor convert_on_host(const Tensor& values, DType dtype);

}  // namespace owlet
