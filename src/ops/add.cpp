#include "ops/add.hpp"

#include "ops/any_op.hpp"
#include "ops/checks.hpp"

namespace owlet {

namespace op {

void Add::check() const {
  check_activation(kName, "a", a);
  for (const auto& [name, tensor] : {std::pair<std::string_view, const Tensor&>{"b", b}, {"y", y}}) {
    check_shape(kName, name, tensor, a.shape());
    check_dtype(kName, name, tensor, {a.dtype()});
  }
}

Cost Add::cost() const { return {static_cast<double>(a.num_elements()), bytes_of({&a, &b}), bytes_of({&y})}; }

}  // namespace op

Tensor add(Context& ctx, const Tensor& a, const Tensor& b) {
  Tensor y = ctx.empty_like(a);
  ctx.run(op::Add{a, b, y});
  ctx.on_backward({a, b}, {y}, [a = a.without_memory(), b = b.without_memory(), y = y.without_memory()](Context& c) {
    const Tensor dy = c.grad(y);
    c.pass_gradient(a, dy);
    c.pass_gradient(b, dy);
  });
  return y;
}

}  // namespace owlet
