// Embedding: rows of a table by token id.
//
//   y[n, :] = weight[tokens[n], :]
#pragma once

#include "ops/context.hpp"
#include "ops/cost.hpp"

namespace owlet {

namespace op {

/// tokens i32 (N…), weight (V, C) f64/f32/bf16, y (N…, C) of weight's type. An id outside [0, V) is an Error at run
/// time.
struct Embedding {
  static constexpr std::string_view kName = "embedding";
  Tensor tokens, weight, y;
  void check() const;
  Cost cost() const;
};

/// dweight[tokens[n], :] += dy[n, :]; rows that no token names become 0 when dweight is not accumulated.
/// dy (N…, C), dweight (V, C) f32 (f64 beside f64).
struct EmbeddingGrad {
  static constexpr std::string_view kName = "embedding_grad";
  Tensor dy, tokens;
  GradientSlot dweight;
  void check() const;
  Cost cost() const;
};

}  // namespace op

/// tokens (N…) i32, weight (V, C) -> (N…, C).
Tensor embedding(Context& ctx, const Tensor& tokens, const Tensor& weight);

}  // namespace owlet
