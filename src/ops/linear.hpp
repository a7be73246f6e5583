// Linear: y = x W^T + b, with the weight stored as (outputs, inputs) like in PyTorch and on the Hugging Face Hub.
//
//   y[n, m] = sum_k x[n, k] * weight[m, k] + bias[m]
//   dx = dy W,   dweight = dy^T x,   dbias = sum_n dy[n, :]
#pragma once

#include <optional>

#include "ops/context.hpp"
#include "ops/cost.hpp"

namespace owlet {

namespace op {

/// x (N…, K), weight (M, K) of x's type, bias (M) f32 (f64 beside f64) or undefined, y (N…, M) of x's type, or f32
/// beside bf16. Products are accumulated in f32 (f64 beside f64).
struct Linear {
  static constexpr std::string_view kName = "linear";
  Tensor x, weight, bias, y;
  void check() const;
  Cost cost() const;
};

/// dx = dy W. dy (N…, M), weight (M, K), dx (N…, K) of dy's type.
struct LinearInputGrad {
  static constexpr std::string_view kName = "linear_input_grad";
  Tensor dy, weight;
  GradientSlot dx;
  void check() const;
  Cost cost() const;
};

/// dweight = dy^T x and dbias = column sums of dy; dweight (M, K) and dbias (M) f32 (f64 beside f64).
struct LinearWeightGrad {
  static constexpr std::string_view kName = "linear_weight_grad";
  Tensor dy, x;
  GradientSlot dweight, dbias;
  void check() const;
  Cost cost() const;
};

}  // namespace op

/// x (N…, K), weight (M, K), bias (M) or undefined -> (N…, M) of x's type, or of `result_type` (f32 logits of a bf16
/// model).
Tensor linear(Context& ctx, const Tensor& x, const Tensor& weight, const Tensor& bias = {},
              std::optional<DType> result_type = {});

}  // namespace owlet
