#include "train/optimizer.hpp"

#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "base/random.hpp"
#include "ops/any_op.hpp"
#include "tensor/formats/moment_codes.hpp"

namespace owlet {
namespace {

Moments make_moments(Context& ctx, Parameter& parameter, OptimizerKind kind, DType full_type) {
  const int64_t count = parameter.shape.num_elements();
  const bool is_8bit = kind == OptimizerKind::adamw8bit && full_type == DType::f32 && count >= kLeastElementsFor8bit;
  const auto zeros = [&](const Shape& shape, DType dtype) {
    Tensor tensor = ctx.empty(shape, dtype, MemoryKind::optimizer);
    ctx.run(op::Fill{tensor, 0});
    return tensor;
  };
  Moments moments;
  moments.parameter = &parameter;
  moments.m = zeros(parameter.shape, is_8bit ? DType::i8 : full_type);
  moments.v = zeros(parameter.shape, is_8bit ? DType::u8 : full_type);
  if (is_8bit) {
    moments.m_scale = zeros({formats::num_moment_blocks(count)}, full_type);
    moments.v_scale = zeros({formats::num_moment_blocks(count)}, full_type);
  }
  return moments;
}

}  // namespace

std::vector<std::pair<std::string_view, Tensor>> Moments::tensors() const {
  std::vector<std::pair<std::string_view, Tensor>> list{{"m.", m}, {"v.", v}};
  if (is_8bit()) list.insert(list.end(), {{"m_scale.", m_scale}, {"v_scale.", v_scale}});
  return list;
}

AdamWOptimizer::AdamWOptimizer(Context& ctx, ParameterSet& parameters, const OptimizerRecipe& options, uint64_t seed)
    : options_(options), seed_(seed) {
  for (Parameter& parameter : parameters.all()) {
    if (!parameter.is_trainable) continue;
    moments_.push_back(make_moments(ctx, parameter, options.kind, parameters.gradient_type()));
  }
  squared_norms_ = ctx.empty({static_cast<int64_t>(moments_.size())}, DType::f64, MemoryKind::optimizer);
}

Tensor AdamWOptimizer::squared_norm_of(size_t index) const {
  const auto row = static_cast<int64_t>(index);
  return squared_norms_.slice(row, row + 1);
}

double AdamWOptimizer::gradient_norm(Context& ctx) const {
  for (size_t i = 0; i < moments_.size(); ++i) {
    ctx.run(op::SquaredNorm{moments_[i].parameter->gradient, squared_norm_of(i)});
  }
  return seen_gradient_norm(ctx);
}

double AdamWOptimizer::seen_gradient_norm(Context& ctx) const {
  std::vector<double> squares(moments_.size());
  ctx.backend().read(squared_norms_, squares.data());
  double sum = 0;
  for (const double square : squares) sum += square;
  return std::sqrt(sum);
}

void AdamWOptimizer::update(Context& ctx, double learning_rate, int64_t update, double gradient_norm) const {
  const bool is_clipped = options_.clip > 0 && gradient_norm > options_.clip;
  const float scale = is_clipped ? static_cast<float>(options_.clip / gradient_norm) : 1.0f;
  for (const Moments& each : moments_) update_one(ctx, each, learning_rate, update, scale);
}

void AdamWOptimizer::update_alone(Context& ctx, const Parameter& parameter, double learning_rate,
                                  int64_t update) const {
  const auto found = std::ranges::find(moments_, &parameter, &Moments::parameter);
  check(found != moments_.end(), ErrorKind::internal, "'{}' is not trained", parameter.name);
  const Tensor square = squared_norm_of(static_cast<size_t>(found - moments_.begin()));
  ctx.run(op::SquaredNorm{parameter.gradient, square});
  double value = 0;
  ctx.backend().read(square, &value);
  if (std::isfinite(value)) update_one(ctx, *found, learning_rate, update, 1.0f);
}

void AdamWOptimizer::update_one(Context& ctx, const Moments& moments, double learning_rate, int64_t update,
                                float scale) const {
  const Parameter& parameter = *moments.parameter;
  op::AdamWStep step;
  step.learning_rate = static_cast<float>(learning_rate);
  step.beta1 = static_cast<float>(options_.beta1);
  step.beta2 = static_cast<float>(options_.beta2);
  step.eps = static_cast<float>(options_.eps);
  step.weight_decay = parameter.decays ? static_cast<float>(options_.weight_decay) : 0.0f;
  step.step = update;
  step.gradient_scale = scale;
  step.seed = seed_;
  step.stream = stream_id("rounding of " + parameter.name);
  if (moments.is_8bit()) {
    ctx.run(op::AdamW8bit{step, parameter.value, parameter.lower_bits, parameter.gradient, moments.m, moments.v,
                          moments.m_scale, moments.v_scale});
  } else {
    ctx.run(op::AdamW{step, parameter.value, parameter.lower_bits, parameter.gradient, moments.m, moments.v});
  }
}

}  // namespace owlet
