// Normalisation layers: RMSNorm and LayerNorm behind one face.
#pragma once

#include <string>

#include "nn/parameter_set.hpp"

namespace owlet {

enum class NormKind : uint8_t { rms_norm, layer_norm };

/// Gain (and, for LayerNorm, shift) of one normalisation; copies share them. The ParameterSet must outlive it.
struct Norm {
  NormKind kind = NormKind::rms_norm;
  const Parameter* weight = nullptr;  // (C)
  const Parameter* bias = nullptr;    // (C) with LayerNorm, else null
  float eps = 1e-5f;

  /// x (…, C) -> (…, C).
  Tensor operator()(Context& ctx, const Tensor& x) const;
};

/// Adds "<name>.weight" (width), ones, and with LayerNorm "<name>.bias", zeros.
Norm make_norm(Context& ctx, ParameterSet& parameters, const std::string& name, NormKind kind, int64_t width,
               float eps);

}  // namespace owlet
