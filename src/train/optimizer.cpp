#include "train/optimizer.hpp"

#include <cmath>

#include "ops/any_op.hpp"

namespace owlet {

AdamWOptimizer::AdamWOptimizer(Context& ctx, ParameterSet& parameters, const OptimizerRecipe& options)
    : options_(options) {
  for (Parameter& parameter : parameters.all()) {
    if (!parameter.is_trainable) continue;
    Moments moments{&parameter, ctx.empty(parameter.shape, parameter.value.dtype(), MemoryKind::optimizer),
                    ctx.empty(parameter.shape, parameter.value.dtype(), MemoryKind::optimizer)};
    ctx.run(op::Fill{moments.m, 0});
    ctx.run(op::Fill{moments.v, 0});
    moments_.push_back(std::move(moments));
  }
  squared_norms_ = ctx.empty({static_cast<int64_t>(moments_.size())}, DType::f64, MemoryKind::optimizer);
}

double AdamWOptimizer::gradient_norm(Context& ctx) const {
  for (size_t i = 0; i < moments_.size(); ++i) {
    const auto row = static_cast<int64_t>(i);
    ctx.run(op::SquaredNorm{moments_[i].parameter->gradient, squared_norms_.slice(row, row + 1)});
  }
  std::vector<double> squares(moments_.size());
  ctx.backend().read(squared_norms_, squares.data());
  double sum = 0;
  for (const double square : squares) sum += square;
  return std::sqrt(sum);
}

void AdamWOptimizer::update(Context& ctx, double learning_rate, int64_t update, double gradient_norm) const {
  const bool is_clipped = options_.clip > 0 && gradient_norm > options_.clip;
  for (const Moments& each : moments_) {
    const Parameter& parameter = *each.parameter;
    const bool has_copy = parameter.compute.defined() && parameter.compute.key() != parameter.value.key();
    op::AdamW op;
    op.weight = parameter.value;
    op.gradient = parameter.gradient;
    op.m = each.m;
    op.v = each.v;
    if (has_copy) op.compute_copy = parameter.compute;
    op.learning_rate = static_cast<float>(learning_rate);
    op.beta1 = static_cast<float>(options_.beta1);
    op.beta2 = static_cast<float>(options_.beta2);
    op.eps = static_cast<float>(options_.eps);
    op.weight_decay = parameter.decays ? static_cast<float>(options_.weight_decay) : 0.0f;
    op.step = update;
    op.gradient_scale = is_clipped ? static_cast<float>(options_.clip / gradient_norm) : 1.0f;
    ctx.run(op);
  }
}

}  // namespace owlet
