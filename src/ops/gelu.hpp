// GELU. Source: Hendrycks and Gimpel, arXiv:1606.08415.
//
//   exact: y = x * Phi(x) = x/2 * (1 + erf(x / sqrt 2))
//   tanh:  y = x/2 * (1 + tanh(sqrt(2/pi) * (x + 0.044715 x^3)))      ("gelu_new" of GPT-2)
#pragma once

#include "ops/context.hpp"
#include "ops/cost.hpp"

namespace owlet {

enum class GeluKind : uint8_t { exact, tanh };

namespace op {

/// x, y of one shape and type (f64/f32/bf16).
struct Gelu {
  static constexpr std::string_view kName = "gelu";
  Tensor x, y;
  GeluKind kind = GeluKind::tanh;
  void check() const;
  Cost cost() const;
};

struct GeluGrad {
  static constexpr std::string_view kName = "gelu_grad";
  Tensor dy, x;
  GradientSlot dx;
  GeluKind kind = GeluKind::tanh;
  void check() const;
  Cost cost() const;
};

}  // namespace op

Tensor gelu(Context& ctx, const Tensor& x, GeluKind kind);

}  // namespace owlet
