#include "ops/swiglu.hpp"

#include "ops/any_op.hpp"
#include "ops/checks.hpp"
#include "ops/tape.hpp"

namespace owlet {

namespace op {

void SwiGlu::check() const {
  check_activation(kName, "gate", gate);
  check_shape(kName, "up", up, gate.shape());
  check_dtype(kName, "up", up, {gate.dtype()});
  check_shape(kName, "y", y, gate.shape());
  check_dtype(kName, "y", y, {gate.dtype()});
}

Cost SwiGlu::cost() const {
  return {6.0 * static_cast<double>(gate.num_elements()), bytes_of({&gate, &up}), bytes_of({&y})};
}

void SwiGluGrad::check() const {
  check_activation(kName, "gate", gate);
  check_shape(kName, "up", up, gate.shape());
  check_dtype(kName, "up", up, {gate.dtype()});
  check_shape(kName, "dy", dy, gate.shape());
  check_dtype(kName, "dy", dy, {gate.dtype()});
  check_slot(kName, "dgate", dgate, gate);
  check_slot(kName, "dup", dup, up);
}

Cost SwiGluGrad::cost() const {
  return {12.0 * static_cast<double>(gate.num_elements()),
          bytes_of({&dy, &gate, &up}) + dgate.bytes_read() + dup.bytes_read(),
          dgate.bytes_written() + dup.bytes_written()};
}

}  // namespace op

Tensor swiglu(Context& ctx, const Tensor& gate, const Tensor& up) {
  Tensor y = ctx.empty_like(gate);
  ctx.run(op::SwiGlu{gate, up, y});
  ctx.on_backward({gate, up}, {y}, [=, y = y.without_memory()](Context& c) {
    c.run(op::SwiGluGrad{c.grad(y), gate, up, c.slot(gate), c.slot(up)});
  });
  ctx.can_recompute(y, [=](Context& c, const Tensor& target) { c.run(op::SwiGlu{gate, up, target}); });
  return y;
}

}  // namespace owlet
