// RMSNorm: divides each row by its root mean square. Source: Zhang and Sennrich, arXiv:1910.07467.
//
//   inv_rms[n] = 1 / sqrt(mean_c(x[n, c]^2) + eps),   y[n, c] = x[n, c] * inv_rms[n] * weight[c]
//
// Backward, with g = dy * weight and r = inv_rms:
//   dx = r * (g - x * r^2 * mean_c(g * x)),   dweight[c] = sum_n dy[n, c] * x[n, c] * r[n]
#pragma once

#include "ops/context.hpp"
#include "ops/cost.hpp"

namespace owlet {

namespace op {

/// x, y (N…, C) f64/f32/bf16; weight (C) f32; inv_rms (N…) f32 (both f64 beside f64). y may be x.
struct RmsNorm {
  static constexpr std::string_view kName = "rms_norm";
  Tensor x, weight, y, inv_rms;
  float eps = 1e-5f;
  void check() const;
  Cost cost() const;
};

/// Gradients of RmsNorm; dx of x's type, dweight f32 (C).
struct RmsNormGrad {
  static constexpr std::string_view kName = "rms_norm_grad";
  Tensor dy, x, weight, inv_rms;
  GradientSlot dx, dweight;
  void check() const;
  Cost cost() const;
};

}  // namespace op

/// x (N…, C), weight (C) -> (N…, C).
Tensor rms_norm(Context& ctx, const Tensor& x, const Tensor& weight, float eps);

}  // namespace owlet
