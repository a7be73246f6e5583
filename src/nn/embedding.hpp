// Embedding layer: a learned vector per token id or per position.
#pragma once

#include <string>

#include "nn/parameter_set.hpp"

namespace owlet {

/// One table of vectors; copies share it. The ParameterSet must outlive it.
struct Embedding {
  const Parameter* weight = nullptr;  // (rows, C)

  /// ids (…) i32 -> (…, C).
  Tensor operator()(Context& ctx, const Tensor& ids) const;
};

/// Adds "<name>.weight" (num_rows, width), normal with `deviation`.
Embedding make_embedding(Context& ctx, ParameterSet& parameters, const std::string& name, int64_t num_rows,
                         int64_t width, float deviation);

}  // namespace owlet
