// AdamW: one pass over a parameter. Source: Loshchilov and Hutter, arXiv:1711.05101 (as in PyTorch's
// torch.optim.AdamW).
//
//   g = gradient * gradient_scale
//   m = beta1 m + (1 - beta1) g,   v = beta2 v + (1 - beta2) g^2
//   weight = weight * (1 - lr * weight_decay) - lr * (m / (1 - beta1^step)) / (sqrt(v / (1 - beta2^step)) + eps)
//
// Weights in bf16 are computed in f32 and rounded at random, up with the probability of the distance from below, so
// that changes far below half a unit in the last place still move the mean (Gupta et al., arXiv:1502.02551):
//
//   bits = upper half of (bits of the f32 weight + lower half of element_bits(seed, stream, 2 step, element))
#pragma once

#include "ops/context.hpp"
#include "ops/cost.hpp"

namespace owlet::op {

/// The numbers of one update, the same for every form of AdamW.
struct AdamWStep {
  float learning_rate = 0, beta1 = 0.9f, beta2 = 0.95f, eps = 1e-8f, weight_decay = 0;
  /// Counts updates from 1; below 2^31.
  int64_t step = 1;
  /// Clipping factor times whatever else scales the gradient.
  float gradient_scale = 1;
  /// Of random rounding: `stream` belongs to the parameter.
  uint64_t seed = 0, stream = 0;

  /// Throws Error invalid_argument for a step out of range.
  void check_step(std::string_view op) const;
  /// Draws of element_bits in this step: for the weight, and for 8-bit moments.
  uint32_t weight_draw() const { return static_cast<uint32_t>(2 * step); }
  uint32_t moment_draw() const { return static_cast<uint32_t>(2 * step + 1); }
};

/// weight: f32; bf16, rounded at random; or bf16 with `lower_bits` u16, which together are an f32 weight
/// (tensor/formats/split_weight.hpp). gradient, m, v of its shape, f32 (all but lower_bits f64 beside f64).
struct AdamW : AdamWStep {
  static constexpr std::string_view kName = "adamw";
  Tensor weight, lower_bits, gradient, m, v;
  void check() const;
  Cost cost() const;
};

/// The same with moments of eight bits, in blocks of 256 elements (tensor/formats/moment_codes.hpp): m i8 and v u8 of
/// the weight's shape, codes of m and of the square root of v; m_scale and v_scale (blocks) f32 (f64 beside f64), the
/// largest |m| and sqrt(v) of each block. Moments are rounded at random: the lower half of
/// element_bits(seed, stream, 2 step + 1, element) dithers m, the upper half sqrt(v). Bits do not depend on the number
/// of threads. A block with a gradient that is not finite gets scales that are not finite.
struct AdamW8bit : AdamWStep {
  static constexpr std::string_view kName = "adamw8bit";
  Tensor weight, lower_bits, gradient, m, v, m_scale, v_scale;
  void check() const;
  Cost cost() const;
};

}  // namespace owlet::op
