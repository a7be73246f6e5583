// AdamW: one pass over a parameter. Source: Loshchilov and Hutter, arXiv:1711.05101 (as in PyTorch's
// torch.optim.AdamW).
//
//   g = gradient * gradient_scale
//   m = beta1 m + (1 - beta1) g,   v = beta2 v + (1 - beta2) g^2
//   weight = weight * (1 - lr * weight_decay) - lr * (m / (1 - beta1^step)) / (sqrt(v / (1 - beta2^step)) + eps)
#pragma once

#include "ops/context.hpp"
#include "ops/cost.hpp"

namespace owlet::op {

/// weight, gradient, m, v of one shape, f32 (all f64 beside f64); compute_copy bf16 or undefined: receives the new
/// weight rounded to bf16 in the same pass.
struct AdamW {
  static constexpr std::string_view kName = "adamw";
  Tensor weight, gradient, m, v, compute_copy;
  float learning_rate = 0, beta1 = 0.9f, beta2 = 0.95f, eps = 1e-8f, weight_decay = 0;
  /// Counts updates from 1.
  int64_t step = 1;
  /// Clipping factor times whatever else scales the gradient.
  float gradient_scale = 1;
  void check() const;
  Cost cost() const;
};

}  // namespace owlet::op
