// AdamW over a ParameterSet: moments, gradient norm, clipped updates.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "nn/parameter_set.hpp"
#include "ops/context.hpp"
#include "train/recipe.hpp"

namespace owlet {

/// Tensors with fewer elements keep moments in full precision: there is little to save, and much depends on them.
inline constexpr int64_t kLeastElementsFor8bit = 4096;

/// Moments of one trainable parameter: m and v in full precision, or codes with their scales (ops/adamw.hpp).
struct Moments {
  Parameter* parameter = nullptr;
  Tensor m, v;
  /// Of codes only.
  Tensor m_scale, v_scale;

  bool is_8bit() const { return m_scale.defined(); }
  /// What a checkpoint keeps: name prefix ("m.") and tensor.
  std::vector<std::pair<std::string_view, Tensor>> tensors() const;
};

/// Holds the moments; the parameters must outlive it. Used by one thread.
class AdamWOptimizer {
 public:
  /// Allocates the moments and sets them to zero. `seed` is that of random rounding.
  AdamWOptimizer(Context& ctx, ParameterSet& parameters, const OptimizerRecipe& options, uint64_t seed);

  /// Euclidean norm of all gradients together, in a fixed order; not finite if any gradient is not.
  double gradient_norm(Context& ctx) const;
  /// One update. `update` counts from 1; `gradient_norm` is what gradient_norm() gave: if it exceeds `clip`, gradients
  /// are scaled by clip / gradient_norm inside the update.
  void update(Context& ctx, double learning_rate, int64_t update, double gradient_norm) const;

  /// The same for one parameter, without clipping, inside a backward pass; a gradient that is not finite leaves the
  /// parameter as it is.
  void update_alone(Context& ctx, const Parameter& parameter, double learning_rate, int64_t update) const;
  /// gradient_norm() of the gradients that update_alone has seen, one of each parameter.
  double seen_gradient_norm(Context& ctx) const;

  std::vector<Moments>& moments() { return moments_; }
  const std::vector<Moments>& moments() const { return moments_; }

 private:
  void update_one(Context& ctx, const Moments& moments, double learning_rate, int64_t update, float scale) const;
  Tensor squared_norm_of(size_t index) const;

  OptimizerRecipe options_;
  uint64_t seed_;
  std::vector<Moments> moments_;
  Tensor squared_norms_;  // (number of parameters) f64
};

}  // namespace owlet
