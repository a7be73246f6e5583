#include "nn/norm.hpp"

#include "ops/layer_norm.hpp"
#include "ops/rms_norm.hpp"

namespace owlet {

Tensor Norm::operator()(Context& ctx, const Tensor& x) const {
  if (kind == NormKind::rms_norm) return rms_norm(ctx, x, weight->value, eps);
  return layer_norm(ctx, x, weight->value, bias->value, eps);
}

Norm make_norm(Context& ctx, ParameterSet& parameters, const std::string& name, NormKind kind, int64_t width,
               float eps) {
  Norm norm{kind, nullptr, nullptr, eps};
  norm.weight = &parameters.add(ctx, name + ".weight", {width}, {Initialization::Kind::ones});
  if (kind == NormKind::layer_norm) {
    norm.bias = &parameters.add(ctx, name + ".bias", {width}, {Initialization::Kind::zeros});
  }
  return norm;
}

}  // namespace owlet
