// Output head and cross-entropy in one operation, over chunks of tokens: the full logits (N, V) never exist.
// The idea: Wijmans et al., arXiv:2411.09009 (Cut Your Losses); Hsu et al., arXiv:2410.10989 (Liger).
//
//   logits[n, :] = x[n, :] W^T,   losses[n] = log sum_v exp(logits[n, v]) - logits[n, targets[n]]
//
// The gradient of a sum over tokens needs no later information, so it is computed while a chunk's logits are at hand:
//   dlogits = gradient_scale * (softmax(logits) - onehot(target)),   dx = dlogits W,   dweight += dlogits^T x
#pragma once

#include "ops/context.hpp"
#include "ops/cost.hpp"

namespace owlet {

namespace op {

/// x (N…, C), weight (V, C) of x's type, targets (N…) i32 with -1 for "not scored", losses (N…) f32 (f64 beside f64), 0
/// where not scored. dx (N…, C) of x's type and dweight (V, C) f32 are filled when wanted. Targets outside [-1, V) are
/// an Error at run time.
struct LinearCrossEntropy {
  static constexpr std::string_view kName = "linear_cross_entropy";
  Tensor x, weight, targets, losses;
  GradientSlot dx, dweight;
  /// Factor of every gradient: 1 / (valid tokens of the whole step).
  float gradient_scale = 1;
  /// Tokens per chunk; logits in memory at a time: chunk_rows * V.
  int64_t chunk_rows = 512;
  void check() const;
  Cost cost() const;
};

}  // namespace op

/// Losses (N…) f32 in nats of predicting targets from x (N…, C) with the head weight (V, C). While recording, gradients
/// of gradient_scale * sum(losses) are prepared; Tape::backward(ctx, losses) then sends them on.
Tensor linear_cross_entropy(Context& ctx, const Tensor& x, const Tensor& weight, const Tensor& targets,
                            float gradient_scale, int64_t chunk_rows = 512);

}  // namespace owlet
