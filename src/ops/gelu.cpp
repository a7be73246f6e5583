#include "ops/gelu.hpp"

#include "ops/any_op.hpp"
#include "ops/checks.hpp"
#include "ops/tape.hpp"

namespace owlet {

namespace op {

void Gelu::check() const {
  check_activation(kName, "x", x);
  check_shape(kName, "y", y, x.shape());
  check_dtype(kName, "y", y, {x.dtype()});
}

Cost Gelu::cost() const { return {10.0 * static_cast<double>(x.num_elements()), bytes_of({&x}), bytes_of({&y})}; }

void GeluGrad::check() const {
  check_activation(kName, "x", x);
  check_shape(kName, "dy", dy, x.shape());
  check_dtype(kName, "dy", dy, {x.dtype()});
  check_slot(kName, "dx", dx, x);
}

Cost GeluGrad::cost() const {
  return {16.0 * static_cast<double>(x.num_elements()), bytes_of({&dy, &x}) + dx.bytes_read(), dx.bytes_written()};
}

}  // namespace op

Tensor gelu(Context& ctx, const Tensor& x, GeluKind kind) {
  Tensor y = ctx.empty_like(x);
  ctx.run(op::Gelu{x, y, kind});
  ctx.on_backward({x}, {y}, [=, y = y.without_memory()](Context& c) {
    c.run(op::GeluGrad{c.grad(y), x, c.slot(x), kind});
  });
  ctx.can_recompute(y, [=](Context& c, const Tensor& target) { c.run(op::Gelu{x, target, kind}); });
  return y;
}

}  // namespace owlet
