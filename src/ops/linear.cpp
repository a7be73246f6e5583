#include "ops/linear.hpp"

#include <algorithm>
#include <array>

#include "ops/any_op.hpp"
#include "ops/checks.hpp"
#include "ops/tape.hpp"

namespace owlet {
namespace {

double product_flops(int64_t m, int64_t n, int64_t k) {
  return 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
}

Shape with_columns(const Shape& shape, int64_t columns) {
  std::array<int64_t, Shape::kMaxRank> dims{};
  const auto old_dims = shape.dims();
  std::copy(old_dims.begin(), old_dims.end(), dims.begin());
  dims[old_dims.size() - 1] = columns;
  return Shape(std::span<const int64_t>(dims.data(), old_dims.size()));
}

}  // namespace

namespace op {

void Linear::check() const {
  check_activation(kName, "x", x);
  check_rank(kName, "weight", weight, 2);
  check_shape(kName, "weight", weight, {y.columns(), x.columns()});
  check_dtype(kName, "weight", weight, {x.dtype()});
  if (bias.defined()) check_f32_beside(kName, "bias", bias, {weight.dim(0)}, x);
  check_shape(kName, "y", y, with_columns(x.shape(), weight.dim(0)));
  check_dtype(kName, "y", y, {x.dtype(), x.dtype() == DType::bf16 ? DType::f32 : x.dtype()});
}

Cost Linear::cost() const {
  return {product_flops(x.rows(), weight.dim(0), weight.dim(1)), bytes_of({&x, &weight, &bias}), bytes_of({&y})};
}

void LinearInputGrad::check() const {
  check_activation(kName, "dy", dy);
  check_rank(kName, "weight", weight, 2);
  check_shape(kName, "dx", dx.tensor, with_columns(dy.shape(), weight.dim(1)));
  check_shape(kName, "weight", weight, {dy.columns(), dx.tensor.columns()});
  check_dtype(kName, "weight", weight, {dy.dtype()});
  check_dtype(kName, "dx", dx.tensor, {dy.dtype()});
}

Cost LinearInputGrad::cost() const {
  return {product_flops(dy.rows(), weight.dim(0), weight.dim(1)), bytes_of({&dy, &weight}) + dx.bytes_read(),
          dx.bytes_written()};
}

void LinearWeightGrad::check() const {
  check_activation(kName, "dy", dy);
  check_activation(kName, "x", x);
  check_dtype(kName, "x", x, {dy.dtype()});
  owlet::check(x.rows() == dy.rows(), ErrorKind::invalid_argument, "{}: dy has {} rows, x has {}", kName, dy.rows(),
               x.rows());
  const DType gradient_type = x.dtype() == DType::f64 ? DType::f64 : DType::f32;
  if (dweight.is_wanted()) {
    check_shape(kName, "dweight", dweight.tensor, {dy.columns(), x.columns()});
    check_dtype(kName, "dweight", dweight.tensor, {gradient_type});
  }
  if (dbias.is_wanted()) {
    check_shape(kName, "dbias", dbias.tensor, {dy.columns()});
    check_dtype(kName, "dbias", dbias.tensor, {gradient_type});
  }
}

Cost LinearWeightGrad::cost() const {
  const double flops = dweight.is_wanted() ? product_flops(dy.rows(), dy.columns(), x.columns()) : 0.0;
  return {flops, bytes_of({&dy, &x}) + dweight.bytes_read() + dbias.bytes_read(),
          dweight.bytes_written() + dbias.bytes_written()};
}

}  // namespace op

Tensor linear(Context& ctx, const Tensor& x, const Tensor& weight, const Tensor& bias,
              std::optional<DType> result_type) {
  check(weight.shape().rank() == 2 && x.shape().rank() >= 1, ErrorKind::invalid_argument,
        "linear: weight {} and x {}, expected (M, K) and (N…, K)", describe(weight), describe(x));
  Tensor y = ctx.empty(with_columns(x.shape(), weight.dim(0)), result_type.value_or(x.dtype()));
  ctx.run(op::Linear{x, weight, bias, y});
  ctx.on_backward({x, weight, bias}, {y},
                  [x_values = ctx.save(x), x = x.without_memory(), weight, bias, y = y.without_memory()](Context& c) {
                    const Tensor dy = c.grad(y);
                    const GradientSlot dweight = c.slot(weight), dbias = c.slot(bias);
                    if (dweight.is_wanted() || dbias.is_wanted())
                      c.run(op::LinearWeightGrad{dy, x_values.get(c), dweight, dbias});
                    if (const GradientSlot dx = c.slot(x); dx.is_wanted()) c.run(op::LinearInputGrad{dy, weight, dx});
                  });
  return y;
}

}  // namespace owlet
