#include "models/language_model.hpp"

#include <numeric>

#include "base/error.hpp"
#include "ops/embedding.hpp"
#include "ops/linear.hpp"
#include "ops/linear_cross_entropy.hpp"

namespace owlet {

namespace {

/// The last position of each row: x (B, T, C) -> (B, 1, C).
Tensor last_positions(Context& ctx, const Tensor& x) {
  const int64_t B = x.dim(0), T = x.dim(1), C = x.dim(2);
  std::vector<int32_t> rows(static_cast<size_t>(B));
  for (size_t b = 0; b < rows.size(); ++b) rows[b] = static_cast<int32_t>((static_cast<int64_t>(b) + 1) * T - 1);
  const Tensor row_ids = ctx.from_values<int32_t>({B, 1}, rows);
  return embedding(ctx, row_ids, x.reshape({B * T, C}));  // rows of x by number
}

}  // namespace

Tensor LanguageModel::losses(Context& ctx, const ModelInput& input, const Tensor& targets, float gradient_scale) {
  if (output_bias() != nullptr) {
    throw Error(ErrorKind::unsupported, "losses of a model whose output head has a bias (GPT-J) are not implemented",
                "such models can generate text; logits() works");
  }
  return linear_cross_entropy(ctx, hidden(ctx, input), output_head().value, targets, gradient_scale,
                              run_options_.loss_chunk_rows);  // (B, T)
}

Tensor LanguageModel::logits(Context& ctx, const ModelInput& input, bool last_only) {
  Tensor x = hidden(ctx, input);                              // (B, T, C)
  if (last_only && x.dim(1) > 1) x = last_positions(ctx, x);  // (B, 1, C)
  const Tensor bias = output_bias() != nullptr ? output_bias()->value : Tensor();
  const DType result_type = x.dtype() == DType::f64 ? DType::f64 : DType::f32;
  return linear(ctx, x, output_head().value, bias, result_type);  // (B, T, V)
}

}  // namespace owlet
