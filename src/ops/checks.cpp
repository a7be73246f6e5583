#include "ops/checks.hpp"

#include <algorithm>

namespace owlet::op {

void check_shape(std::string_view op, std::string_view name, const Tensor& tensor, const Shape& expected) {
  check(tensor.defined(), ErrorKind::invalid_argument, "{}: {} is missing", op, name);
  check(tensor.shape() == expected, ErrorKind::invalid_argument, "{}: {} has shape {}, expected {}", op, name,
        to_string(tensor.shape()), to_string(expected));
}

void check_dtype(std::string_view op, std::string_view name, const Tensor& tensor,
                 std::initializer_list<DType> allowed) {
  check(tensor.defined(), ErrorKind::invalid_argument, "{}: {} is missing", op, name);
  if (std::ranges::find(allowed, tensor.dtype()) != allowed.end()) return;
  std::string names;
  for (DType dtype : allowed) names += fmt::format("{}{}", names.empty() ? "" : " or ", to_string(dtype));
  fail(ErrorKind::invalid_argument, "{}: {} is {}, expected {}", op, name, to_string(tensor.dtype()), names);
}

void check_activation(std::string_view op, std::string_view name, const Tensor& tensor) {
  check_dtype(op, name, tensor, {DType::f64, DType::f32, DType::bf16});
}

void check_f32_beside(std::string_view op, std::string_view name, const Tensor& tensor, const Shape& expected,
                      const Tensor& activation) {
  check_shape(op, name, tensor, expected);
  check_dtype(op, name, tensor, {activation.dtype() == DType::f64 ? DType::f64 : DType::f32});
}

void check_slot(std::string_view op, std::string_view name, const GradientSlot& slot, const Tensor& value) {
  if (!slot.is_wanted()) return;
  check_shape(op, name, slot.tensor, value.shape());
  if (value.dtype() == DType::f64) {
    check_dtype(op, name, slot.tensor, {DType::f64});
  } else {
    check_dtype(op, name, slot.tensor, {value.dtype(), DType::f32});
  }
}

void check_rank(std::string_view op, std::string_view name, const Tensor& tensor, int rank) {
  check(tensor.defined(), ErrorKind::invalid_argument, "{}: {} is missing", op, name);
  check(tensor.shape().rank() == rank, ErrorKind::invalid_argument, "{}: {} has shape {}, expected {} dimensions", op,
        name, to_string(tensor.shape()), rank);
}

double bytes_of(std::initializer_list<const Tensor*> tensors) {
  double total = 0;
  for (const Tensor* tensor : tensors) {
    if (tensor->defined()) total += static_cast<double>(tensor->size_bytes());
  }
  return total;
}

}  // namespace owlet::op
