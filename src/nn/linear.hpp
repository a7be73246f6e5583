// Linear layer: y = x W^T + b.
#pragma once

#include <string>

#include "nn/parameter_set.hpp"

namespace owlet {

/// Parameters of one linear layer; copies share them. The ParameterSet must outlive it.
struct Linear {
  const Parameter* weight = nullptr;  // (M, N)
  const Parameter* bias = nullptr;    // (M), or null

  /// x (…, N) -> (…, M) of x's type.
  Tensor operator()(Context& ctx, const Tensor& x) const;
};

/// Adds "<name>.weight" (num_outputs, num_inputs), normal with `deviation`, and, if asked, "<name>.bias", zero.
Linear make_linear(Context& ctx, ParameterSet& parameters, const std::string& name, int64_t num_inputs,
                   int64_t num_outputs, bool has_bias, float deviation);

}  // namespace owlet
