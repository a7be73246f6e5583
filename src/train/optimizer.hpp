// AdamW over a ParameterSet: moments, gradient norm, one clipped update.
#pragma once

#include <cstdint>
#include <vector>

#include "nn/parameter_set.hpp"
#include "ops/context.hpp"
#include "train/recipe.hpp"

namespace owlet {

/// Moments of one trainable parameter, f32 like its master weight.
struct Moments {
  Parameter* parameter = nullptr;
  Tensor m, v;
};

/// Holds the moments; the parameters must outlive it and have gradients allocated. Used by one thread.
class AdamWOptimizer {
 public:
  /// Allocates the moments and sets them to zero.
  AdamWOptimizer(Context& ctx, ParameterSet& parameters, const OptimizerRecipe& options);

  /// Euclidean norm of all gradients together, in a fixed order; not finite if any gradient is not.
  double gradient_norm(Context& ctx) const;
  /// One update. `update` counts from 1; `gradient_norm` is what gradient_norm() gave: if it exceeds `clip`, gradients
  /// are scaled by clip / gradient_norm inside the update.
  void update(Context& ctx, double learning_rate, int64_t update, double gradient_norm) const;

  std::vector<Moments>& moments() { return moments_; }
  const std::vector<Moments>& moments() const { return moments_; }

 private:
  OptimizerRecipe options_;
  std::vector<Moments> moments_;
  Tensor squared_norms_;  // (number of parameters) f64
};

}  // namespace owlet
