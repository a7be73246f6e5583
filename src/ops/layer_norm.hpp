// LayerNorm: each row to mean 0 and variance 1, then scale and shift. Source: Ba, Kiros, Hinton, arXiv:1607.06450.
//
//   xhat = (x - mean) * inv_std,   inv_std = 1 / sqrt(var + eps) (biased variance),   y = xhat * weight + bias
//
// Backward, with g = dy * weight:
//   dx = inv_std * (g - mean_c(g) - xhat * mean_c(g * xhat)),   dweight = sum_n dy * xhat,   dbias = sum_n dy
#pragma once

#include "ops/context.hpp"
#include "ops/cost.hpp"

namespace owlet {

namespace op {

/// x, y (N…, C) f64/f32/bf16; weight and bias (C) f32, bias may be undefined; mean, inv_std (N…) f32 (f64 beside f64).
struct LayerNorm {
  static constexpr std::string_view kName = "layer_norm";
  Tensor x, weight, bias, y, mean, inv_std;
  float eps = 1e-5f;
  void check() const;
  Cost cost() const;
};

/// Gradients of LayerNorm; dx of x's type, dweight and dbias f32 (C).
struct LayerNormGrad {
  static constexpr std::string_view kName = "layer_norm_grad";
  Tensor dy, x, weight, mean, inv_std;
  GradientSlot dx, dweight, dbias;
  void check() const;
  Cost cost() const;
};

}  // namespace op

/// x (N…, C), weight (C), bias (C) or undefined -> (N…, C).
Tensor layer_norm(Context& ctx, const Tensor& x, const Tensor& weight, const Tensor& bias, float eps);

}  // namespace owlet
