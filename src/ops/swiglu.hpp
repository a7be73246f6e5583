// SwiGLU: the gated feed-forward activation. Source: Shazeer, arXiv:2002.05202.
//
//   y = silu(gate) * up,   silu(z) = z * sigmoid(z)
//   dgate = dy * up * sigmoid(gate) * (1 + gate * (1 - sigmoid(gate))),   dup = dy * silu(gate)
#pragma once

#include "ops/context.hpp"
#include "ops/cost.hpp"

namespace owlet {

namespace op {

/// gate, up, y of one shape and type (f64/f32/bf16).
struct SwiGlu {
  static constexpr std::string_view kName = "swiglu";
  Tensor gate, up, y;
  void check() const;
  Cost cost() const;
};

struct SwiGluGrad {
  static constexpr std::string_view kName = "swiglu_grad";
  Tensor dy, gate, up;
  GradientSlot dgate, dup;
  void check() const;
  Cost cost() const;
};

}  // namespace op

/// gate, up (N…, F) -> (N…, F).
Tensor swiglu(Context& ctx, const Tensor& gate, const Tensor& up);

}  // namespace owlet
