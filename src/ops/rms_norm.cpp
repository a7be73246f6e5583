#include "ops/rms_norm.hpp"

#include "ops/any_op.hpp"
#include "ops/checks.hpp"
#include "ops/tape.hpp"

namespace owlet {

namespace op {

void RmsNorm::check() const {
  check_activation(kName, "x", x);
  check_f32_beside(kName, "weight", weight, {x.columns()}, x);
  check_shape(kName, "y", y, x.shape());
  check_dtype(kName, "y", y, {x.dtype()});
  check_f32_beside(kName, "inv_rms", inv_rms, {x.rows()}, x);
}

Cost RmsNorm::cost() const {
  return {4.0 * static_cast<double>(x.num_elements()), bytes_of({&x, &weight}), bytes_of({&y, &inv_rms})};
}

void RmsNormGrad::check() const {
  check_activation(kName, "x", x);
  check_shape(kName, "dy", dy, x.shape());
  check_dtype(kName, "dy", dy, {x.dtype()});
  check_f32_beside(kName, "weight", weight, {x.columns()}, x);
  check_f32_beside(kName, "inv_rms", inv_rms, {x.rows()}, x);
  check_slot(kName, "dx", dx, x);
  check_slot(kName, "dweight", dweight, weight);
}

Cost RmsNormGrad::cost() const {
  return {10.0 * static_cast<double>(x.num_elements()),
          bytes_of({&dy, &x, &weight, &inv_rms}) + dx.bytes_read() + dweight.bytes_read(),
          dx.bytes_written() + dweight.bytes_written()};
}

}  // namespace op

Tensor rms_norm(Context& ctx, const Tensor& x, const Tensor& weight, float eps) {
  Tensor y = ctx.empty_like(x);
  Tensor inv_rms = ctx.empty({x.rows()}, weight.dtype());
  ctx.run(op::RmsNorm{x, weight, y, inv_rms, eps});
  ctx.on_backward({x, weight}, {y}, [=, y = y.without_memory()](Context& c) {
    c.run(op::RmsNormGrad{c.grad(y), x, weight, inv_rms, c.slot(x), c.slot(weight)});
  });
  ctx.can_recompute(y, [=](Context& c, const Tensor& target) { c.run(op::RmsNorm{x, weight, target, inv_rms, eps}); });
  return y;
}

}  // namespace owlet
