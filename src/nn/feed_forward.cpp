#include "nn/feed_forward.hpp"

#include "ops/swiglu.hpp"

namespace owlet {

Tensor SwiGluFeedForward::operator()(Context& ctx, const Tensor& x) const {
  // gate and up die before the last product unless the tape keeps them.
  const auto gated = [&] {
    const Tensor g = gate(ctx, x);  // (B, T, F)
    const Tensor u = up(ctx, x);    // (B, T, F)
    return swiglu(ctx, g, u);       // (B, T, F)
  };
  return down(ctx, gated());  // (B, T, C)
}

Tensor GeluFeedForward::operator()(Context& ctx, const Tensor& x) const {
  const auto activated = [&] {
    const Tensor h = up(ctx, x);  // (B, T, F)
    return gelu(ctx, h, kind);    // (B, T, F)
  };
  return down(ctx, activated());  // (B, T, C)
}

SwiGluFeedForward make_swiglu_feed_forward(Context& ctx, ParameterSet& parameters, const std::string& name,
                                           const FeedForwardShape& s) {
  SwiGluFeedForward network;
  network.gate =
      make_linear(ctx, parameters, name + ".gate_proj", s.width, s.feed_forward_width, s.has_bias, s.deviation);
  network.up = make_linear(ctx, parameters, name + ".up_proj", s.width, s.feed_forward_width, s.has_bias, s.deviation);
  network.down =
      make_linear(ctx, parameters, name + ".down_proj", s.feed_forward_width, s.width, s.has_bias, s.down_deviation);
  return network;
}

GeluFeedForward make_gelu_feed_forward(Context& ctx, ParameterSet& parameters, const std::string& name,
                                       const FeedForwardShape& s, GeluKind kind) {
  GeluFeedForward network;
  network.kind = kind;
  network.up = make_linear(ctx, parameters, name + ".up_proj", s.width, s.feed_forward_width, s.has_bias, s.deviation);
  network.down =
      make_linear(ctx, parameters, name + ".down_proj", s.feed_forward_width, s.width, s.has_bias, s.down_deviation);
  return network;
}

}  // namespace owlet
