#include "ops/linear_cross_entropy.hpp"

#include "ops/any_op.hpp"
#include "ops/checks.hpp"
#include "ops/tape.hpp"

namespace owlet {

namespace op {

void LinearCrossEntropy::check() const {
  check_activation(kName, "x", x);
  check_rank(kName, "weight", weight, 2);
  check_shape(kName, "weight", weight, {weight.dim(0), x.columns()});
  check_dtype(kName, "weight", weight, {x.dtype()});
  check_dtype(kName, "targets", targets, {DType::i32});
  owlet::check(targets.num_elements() == x.rows(), ErrorKind::invalid_argument, "{}: {} targets for {} rows of x",
               kName, targets.num_elements(), x.rows());
  check_f32_beside(kName, "losses", losses, targets.shape(), x);
  check_slot(kName, "dx", dx, x);
  check_slot(kName, "dweight", dweight, weight);
  if (dweight.is_wanted()) check_dtype(kName, "dweight", dweight.tensor, {losses.dtype()});
  owlet::check(chunk_rows > 0, ErrorKind::invalid_argument, "{}: chunk_rows is {}, expected at least 1", kName,
               chunk_rows);
}

Cost LinearCrossEntropy::cost() const {
  const double product = 2.0 * static_cast<double>(x.rows()) * static_cast<double>(weight.num_elements());
  const double num_products = 1.0 + (dx.is_wanted() ? 1.0 : 0.0) + (dweight.is_wanted() ? 1.0 : 0.0);
  return {num_products * product, bytes_of({&x, &weight, &targets}) + dx.bytes_read() + dweight.bytes_read(),
          bytes_of({&losses}) + dx.bytes_written() + dweight.bytes_written()};
}

}  // namespace op

Tensor linear_cross_entropy(Context& ctx, const Tensor& x, const Tensor& weight, const Tensor& targets,
                            float gradient_scale, int64_t chunk_rows) {
  Tensor losses = ctx.empty(targets.shape(), x.dtype() == DType::f64 ? DType::f64 : DType::f32);
  const bool wants_dx = ctx.is_recording() && ctx.tape()->needs_gradient(x);
  const GradientSlot dx{wants_dx ? ctx.empty_like(x) : Tensor(), false};
  ctx.run(op::LinearCrossEntropy{x, weight, targets, losses, dx, ctx.slot(weight), gradient_scale, chunk_rows});
  // The gradients are there already: backward only has to send dx on.
  ctx.on_backward({x}, {losses}, [x = x.without_memory(), dx](Context& c) { c.pass_gradient(x, dx.tensor); });
  return losses;
}

}  // namespace owlet
