// Sum of two tensors: the residual connection. Its backward moves no data: both inputs receive the gradient of the sum.
#pragma once

#include "ops/context.hpp"
#include "ops/cost.hpp"

namespace owlet {

namespace op {

/// y = a + b; one shape and type (f64/f32/bf16). y may be a or b.
struct Add {
  static constexpr std::string_view kName = "add";
  Tensor a, b, y;
  void check() const;
  Cost cost() const;
};

}  // namespace op

/// a, b (…) -> (…).
Tensor add(Context& ctx, const Tensor& a, const Tensor& b);

}  // namespace owlet
