// The reference backend: every operation in float64, as plain loops that read like the formula in the op's header.
// What other backends are tested against, and what numerical differences check. Single-threaded; slow on purpose.
#pragma once

#include <memory>

#include "ops/backend.hpp"

namespace owlet {

/// Floating-point tensors must be f64 (Cast, Fill, FillNormal and SquaredNorm take every type of their headers); others
/// are an Error unsupported.
std::unique_ptr<Backend> make_reference_backend();

}  // namespace owlet
