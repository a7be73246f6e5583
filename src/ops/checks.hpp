// The checks that op structs share; every message names the operation, the tensor and both values.
#pragma once

#include <initializer_list>
#include <string_view>

#include "base/error.hpp"
#include "ops/cost.hpp"
#include "tensor/tensor.hpp"

namespace owlet::op {

/// The tensor is defined and has this shape.
void check_shape(std::string_view op, std::string_view name, const Tensor& tensor, const Shape& expected);
/// The tensor is defined and its element type is one of `allowed`.
void check_dtype(std::string_view op, std::string_view name, const Tensor& tensor,
                 std::initializer_list<DType> allowed);
/// The tensor is defined and is f64, f32 or bf16.
void check_activation(std::string_view op, std::string_view name, const Tensor& tensor);
/// Shape as `expected` and the element type of statistics and small weights: f64 beside f64 activations, else f32.
void check_f32_beside(std::string_view op, std::string_view name, const Tensor& tensor, const Shape& expected,
                      const Tensor& activation);
/// A wanted gradient has the shape of `value`; its type is that of `value` or f32 (f64 beside f64).
void check_slot(std::string_view op, std::string_view name, const GradientSlot& slot, const Tensor& value);
/// The tensor's rank is `rank`.
void check_rank(std::string_view op, std::string_view name, const Tensor& tensor, int rank);

/// Sum of the sizes of the defined tensors.
double bytes_of(std::initializer_list<const Tensor*> tensors);

}  // namespace owlet::op
