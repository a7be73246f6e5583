// The two feed-forward networks of decoders. Sources: Vaswani et al., arXiv:1706.03762, section 3.3 (with GELU as in
// GPT-2); Shazeer, arXiv:2002.05202 (SwiGLU).
#pragma once

#include <string>

#include "nn/linear.hpp"
#include "ops/gelu.hpp"

namespace owlet {

/// down(silu(gate(x)) * up(x)).
struct SwiGluFeedForward {
  Linear gate, up, down;

  /// x (B, T, C) -> (B, T, C).
  Tensor operator()(Context& ctx, const Tensor& x) const;
};

/// down(gelu(up(x))).
struct GeluFeedForward {
  Linear up, down;
  GeluKind kind = GeluKind::tanh;

  /// x (B, T, C) -> (B, T, C).
  Tensor operator()(Context& ctx, const Tensor& x) const;
};

/// What both kinds are built from.
struct FeedForwardShape {
  int64_t width = 0;               // C
  int64_t feed_forward_width = 0;  // F
  bool has_bias = false;
  /// Standard deviation of the matrices, and of `down`, which ends in the residual sum.
  float deviation = 0.02f, down_deviation = 0.02f;
};

/// Adds "<name>.gate_proj", "<name>.up_proj" and "<name>.down_proj".
SwiGluFeedForward make_swiglu_feed_forward(Context& ctx, ParameterSet& parameters, const std::string& name,
                                           const FeedForwardShape& shape);
/// Adds "<name>.up_proj" and "<name>.down_proj".
GeluFeedForward make_gelu_feed_forward(Context& ctx, ParameterSet& parameters, const std::string& name,
                                       const FeedForwardShape& shape, GeluKind kind);

}  // namespace owlet
