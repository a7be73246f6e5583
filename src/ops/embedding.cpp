#include "ops/embedding.hpp"

#include "ops/any_op.hpp"
#include "ops/checks.hpp"

namespace owlet {

namespace op {

void Embedding::check() const {
  check_rank(kName, "weight", weight, 2);
  check_activation(kName, "weight", weight);
  check_dtype(kName, "tokens", tokens, {DType::i32});
  check_shape(kName, "y as a matrix", y.reshape({y.rows(), y.columns()}), {tokens.num_elements(), weight.dim(1)});
  check_dtype(kName, "y", y, {weight.dtype()});
}

Cost Embedding::cost() const { return {0, bytes_of({&tokens, &y}), bytes_of({&y})}; }

void EmbeddingGrad::check() const {
  check_activation(kName, "dy", dy);
  check_dtype(kName, "tokens", tokens, {DType::i32});
  check_rank(kName, "dweight", dweight.tensor, 2);
  check_shape(kName, "dy as a matrix", dy.reshape({dy.rows(), dy.columns()}),
              {tokens.num_elements(), dweight.tensor.dim(1)});
  check_dtype(kName, "dweight", dweight.tensor, {dy.dtype() == DType::f64 ? DType::f64 : DType::f32});
}

Cost EmbeddingGrad::cost() const {
  // Only the rows that tokens name are read and written again; overwriting clears the whole table first.
  const double rows = static_cast<double>(dy.num_elements()) * static_cast<double>(size_of(dweight.tensor.dtype()));
  const double cleared = dweight.accumulate ? 0.0 : bytes_of({&dweight.tensor});
  return {static_cast<double>(dy.num_elements()), bytes_of({&dy, &tokens}) + rows, rows + cleared};
}

}  // namespace op

Tensor embedding(Context& ctx, const Tensor& tokens, const Tensor& weight) {
  check(weight.shape().rank() == 2, ErrorKind::invalid_argument, "embedding: weight has shape {}, expected (V, C)",
        to_string(weight.shape()));
  const int64_t columns = weight.dim(1);
  const Shape shape =
      tokens.shape().rank() == 2 ? Shape{tokens.dim(0), tokens.dim(1), columns} : Shape{tokens.num_elements(), columns};
  Tensor y = ctx.empty(shape, weight.dtype());
  ctx.run(op::Embedding{tokens, weight, y});
  ctx.on_backward({weight}, {y}, [=, y = y.without_memory()](Context& c) {
    c.run(op::EmbeddingGrad{c.grad(y), tokens, c.slot(weight)});
  });
  return y;
}

}  // namespace owlet
