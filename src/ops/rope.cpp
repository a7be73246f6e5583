#include "ops/rope.hpp"

#include <cmath>
#include <vector>

#include "ops/any_op.hpp"
#include "ops/checks.hpp"

namespace owlet {

namespace op {

void Rope::check() const {
  check_activation(kName, "x", x);
  check_rank(kName, "x", x, 4);
  check_shape(kName, "y", y, x.shape());
  check_dtype(kName, "y", y, {x.dtype()});
  check_shape(kName, "positions", positions, {x.dim(0), x.dim(1)});
  check_dtype(kName, "positions", positions, {DType::i32});
  check_rank(kName, "table", table, 3);
  check_f32_beside(kName, "table", table, {table.dim(0), table.dim(1), 2}, x);
  owlet::check(2 * table.dim(1) <= x.dim(3), ErrorKind::invalid_argument,
               "rope: the table turns {} dimensions, heads have {}", 2 * table.dim(1), x.dim(3));
}

Cost Rope::cost() const {
  const double turned = static_cast<double>(x.num_elements() / x.dim(3) * table.dim(1) * 2);
  return {3.0 * turned, bytes_of({&x}) + (accumulate ? bytes_of({&y}) : 0.0), bytes_of({&y})};
}

}  // namespace op

Tensor rope(Context& ctx, const Tensor& x, const Tensor& positions, const Tensor& table, RopeStyle style) {
  Tensor y = ctx.empty_like(x);
  ctx.run(op::Rope{x, positions, table, y, style});
  ctx.on_backward({x}, {y}, [=, x = x.without_memory(), y = y.without_memory()](Context& c) {
    const GradientSlot dx = c.slot(x);
    c.run(op::Rope{c.grad(y), positions, table, dx.tensor, style, true, dx.accumulate});
  });
  return y;
}

Tensor make_rope_table(Context& ctx, int64_t num_positions, int64_t rotary_size, double theta, DType dtype) {
  check(rotary_size > 0 && rotary_size % 2 == 0, ErrorKind::invalid_argument,
        "rope: {} rotary dimensions, expected an even number above 0", rotary_size);
  const int64_t pairs = rotary_size / 2;
  std::vector<double> values;
  values.reserve(static_cast<size_t>(num_positions * pairs * 2));
  for (int64_t position = 0; position < num_positions; ++position) {
    for (int64_t i = 0; i < pairs; ++i) {
      const double frequency = std::pow(theta, -2.0 * static_cast<double>(i) / static_cast<double>(rotary_size));
      const double angle = static_cast<double>(position) * frequency;
      values.push_back(std::cos(angle));
      values.push_back(std::sin(angle));
    }
  }
  const Shape shape{num_positions, pairs, 2};
  if (dtype == DType::f64) return ctx.from_values<double>(shape, values, MemoryKind::weights);
  const std::vector<float> rounded(values.begin(), values.end());
  return ctx.from_values<float>(shape, rounded, MemoryKind::weights);
}

}  // namespace owlet
