#include "ops/layer_norm.hpp"

#include "ops/any_op.hpp"
#include "ops/checks.hpp"
#include "ops/tape.hpp"

namespace owlet {

namespace op {

void LayerNorm::check() const {
  check_activation(kName, "x", x);
  check_f32_beside(kName, "weight", weight, {x.columns()}, x);
  if (bias.defined()) check_f32_beside(kName, "bias", bias, {x.columns()}, x);
  check_shape(kName, "y", y, x.shape());
  check_dtype(kName, "y", y, {x.dtype()});
  check_f32_beside(kName, "mean", mean, {x.rows()}, x);
  check_f32_beside(kName, "inv_std", inv_std, {x.rows()}, x);
}

Cost LayerNorm::cost() const {
  return {7.0 * static_cast<double>(x.num_elements()), bytes_of({&x, &weight, &bias}), bytes_of({&y, &mean, &inv_std})};
}

void LayerNormGrad::check() const {
  check_activation(kName, "x", x);
  check_shape(kName, "dy", dy, x.shape());
  check_dtype(kName, "dy", dy, {x.dtype()});
  check_f32_beside(kName, "weight", weight, {x.columns()}, x);
  check_f32_beside(kName, "mean", mean, {x.rows()}, x);
  check_f32_beside(kName, "inv_std", inv_std, {x.rows()}, x);
  check_slot(kName, "dx", dx, x);
  check_slot(kName, "dweight", dweight, weight);
  check_slot(kName, "dbias", dbias, weight);
}

Cost LayerNormGrad::cost() const {
  return {14.0 * static_cast<double>(x.num_elements()),
          bytes_of({&dy, &x, &weight, &mean, &inv_std}) + dx.bytes_read() + dweight.bytes_read() + dbias.bytes_read(),
          dx.bytes_written() + dweight.bytes_written() + dbias.bytes_written()};
}

}  // namespace op

Tensor layer_norm(Context& ctx, const Tensor& x, const Tensor& weight, const Tensor& bias, float eps) {
  Tensor y = ctx.empty_like(x);
  Tensor mean = ctx.empty({x.rows()}, weight.dtype());
  Tensor inv_std = ctx.empty({x.rows()}, weight.dtype());
  ctx.run(op::LayerNorm{x, weight, bias, y, mean, inv_std, eps});
  ctx.on_backward({x, weight, bias}, {y}, [=, y = y.without_memory()](Context& c) {
    c.run(op::LayerNormGrad{c.grad(y), x, weight, mean, inv_std, c.slot(x), c.slot(weight), c.slot(bias)});
  });
  ctx.can_recompute(y, [=](Context& c, const Tensor& target) {
    c.run(op::LayerNorm{x, weight, bias, target, mean, inv_std, eps});
  });
  return y;
}

}  // namespace owlet
