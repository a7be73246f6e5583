#include "nn/linear.hpp"

#include "ops/linear.hpp"

namespace owlet {

Tensor Linear::operator()(Context& ctx, const Tensor& x) const {
  return linear(ctx, x, weight->value, bias != nullptr ? bias->value : Tensor());
}

Linear make_linear(Context& ctx, ParameterSet& parameters, const std::string& name, int64_t num_inputs,
                   int64_t num_outputs, bool has_bias, float deviation) {
  Linear layer;
  layer.weight =
      &parameters.add(ctx, name + ".weight", {num_outputs, num_inputs}, {Initialization::Kind::normal, deviation});
  if (has_bias) layer.bias = &parameters.add(ctx, name + ".bias", {num_outputs}, {Initialization::Kind::zeros});
  return layer;
}

}  // namespace owlet
