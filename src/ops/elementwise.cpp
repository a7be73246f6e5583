#include "ops/elementwise.hpp"

#include "ops/any_op.hpp"
#include "ops/checks.hpp"

namespace owlet {

namespace op {

void Cast::check() const {
  check_activation(kName, "x", x);
  check_activation(kName, "y", y);
  check_shape(kName, "y", y, x.shape());
}

Cost Cast::cost() const { return {0, bytes_of({&x}), bytes_of({&y})}; }

void SplitWeight::check() const {
  check_dtype(kName, "x", x, {DType::f32, DType::f64});
  check_shape(kName, "weight", weight, x.shape());
  check_dtype(kName, "weight", weight, {x.dtype() == DType::f64 ? DType::f64 : DType::bf16});
  check_shape(kName, "lower_bits", lower_bits, x.shape());
  check_dtype(kName, "lower_bits", lower_bits, {DType::u16});
}

Cost SplitWeight::cost() const { return {0, bytes_of({&x}), bytes_of({&weight, &lower_bits})}; }

void Fill::check() const {
  check_dtype(kName, "y", y, {DType::f64, DType::f32, DType::bf16, DType::i32, DType::i8, DType::u8});
}

Cost Fill::cost() const { return {0, 0, bytes_of({&y})}; }

void FillNormal::check() const { check_activation(kName, "y", y); }

Cost FillNormal::cost() const { return {20.0 * static_cast<double>(y.num_elements()), 0, bytes_of({&y})}; }

void SquaredNorm::check() const {
  check_activation(kName, "x", x);
  check_shape(kName, "result", result, {1});
  check_dtype(kName, "result", result, {DType::f64});
}

Cost SquaredNorm::cost() const {
  return {2.0 * static_cast<double>(x.num_elements()), bytes_of({&x}), bytes_of({&result})};
}

}  // namespace op

Tensor cast(Context& ctx, const Tensor& x, DType dtype) {
  Tensor y = ctx.empty(x.shape(), dtype);
  ctx.run(op::Cast{x, y});
  return y;
}

}  // namespace owlet
