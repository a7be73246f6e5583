// RoPE: rotary position embedding. Source: Su et al., arXiv:2104.09864.
//
// Pair i of a head (i < R/2) is turned by the angle position * theta^(-2i/R):
//   y_a = x_a cos - x_b sin,   y_b = x_b cos + x_a sin
// where (a, b) = (i, i + R/2) for RopeStyle::halves (Llama on the Hub, GPT-NeoX) and (2i, 2i + 1) for
// RopeStyle::pairs (GPT-J, Meta's own Llama files). Dimensions from R on pass unchanged.
// Backward: the rotation by the opposite angle.
#pragma once

#include "ops/context.hpp"
#include "ops/cost.hpp"

namespace owlet {

enum class RopeStyle : uint8_t { halves, pairs };

namespace op {

/// x, y (B, T, H, D) f64/f32/bf16; positions (B, T) i32, each below P; table (P, R/2, 2) f32 with (cos, sin), R <= D
/// even (f64 beside f64). `inverse` turns backwards; `accumulate` adds to y. y may be x when not accumulating.
struct Rope {
  static constexpr std::string_view kName = "rope";
  Tensor x, positions, table, y;
  RopeStyle style = RopeStyle::halves;
  bool inverse = false;
  bool accumulate = false;
  void check() const;
  Cost cost() const;
};

}  // namespace op

/// x (B, T, H, D), positions (B, T), table from make_rope_table -> (B, T, H, D).
Tensor rope(Context& ctx, const Tensor& x, const Tensor& positions, const Tensor& table, RopeStyle style);

/// The (cos, sin) table for positions below `num_positions`: f32 (P, rotary_size / 2, 2), angles computed in double;
/// f64 with dtype f64.
Tensor make_rope_table(Context& ctx, int64_t num_positions, int64_t rotary_size, double theta,
                       DType dtype = DType::f32);

}  // namespace owlet
