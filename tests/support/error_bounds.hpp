// How far a result may be from the exact one: one bound per operation, derived from the rounding errors of its formula.
//
// Notation: u = 2^-24, the unit roundoff of f32, in which kernels compute whatever the type of activations; gamma(n) =
// n u / (1 - n u) bounds the relative effect of n roundings (Higham, Accuracy and Stability of Numerical Algorithms,
// section 3.1), whatever the order of a sum of n terms. The bounds are of first order. Rounding the finished result to
// its own type is added by the harness.
//
// Liberties that kernels may take, and the bounds allow:
//   - exponentials are wrong by up to kExpRoundings unit roundoffs (2 units in the last place), in activation functions
//     with results in bf16 by up to kNarrowExpRoundings;
//   - an intermediate that becomes the operand of a matrix product may be held in the activation type.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "ops/any_op.hpp"

namespace owlet::test {

inline constexpr double kF32Roundoff = unit_roundoff(DType::f32);
inline constexpr double kExpRoundings = 4;
/// Of exponentials inside an activation function whose results are rounded to bf16: 2^-18, a five-hundredth of that.
inline constexpr double kNarrowExpRoundings = 64;

/// Bound of n roundings in f32.
inline double gamma(double n) { return n * kF32Roundoff / (1 - n * kF32Roundoff); }
inline double gamma(int64_t n) { return gamma(static_cast<double>(n)); }

/// Bound of one result.
struct ErrorBound {
  /// Per element, of the value before it is rounded to the result's type. Empty: the rounded result must be exact.
  std::vector<double> error;
  /// Roundings that what is already in the slot goes through while contributions are added to it.
  double chain = 1;
};
using ErrorBounds = std::map<std::string, ErrorBound, std::less<>>;

/// Bounds of the results of an op that the reference backend has run; `activation` is the type under test. Unwanted
/// results may be missing.
ErrorBounds error_bounds(const op::Embedding& op, DType activation);
ErrorBounds error_bounds(const op::EmbeddingGrad& op, DType activation);
ErrorBounds error_bounds(const op::RmsNorm& op, DType activation);
ErrorBounds error_bounds(const op::RmsNormGrad& op, DType activation);
ErrorBounds error_bounds(const op::LayerNorm& op, DType activation);
ErrorBounds error_bounds(const op::LayerNormGrad& op, DType activation);
ErrorBounds error_bounds(const op::Linear& op, DType activation);
ErrorBounds error_bounds(const op::LinearInputGrad& op, DType activation);
ErrorBounds error_bounds(const op::LinearWeightGrad& op, DType activation);
ErrorBounds error_bounds(const op::Rope& op, DType activation);
ErrorBounds error_bounds(const op::Attention& op, DType activation);
ErrorBounds error_bounds(const op::AttentionGrad& op, DType activation);
ErrorBounds error_bounds(const op::PlainAttention& op, DType activation);
ErrorBounds error_bounds(const op::PlainAttentionGrad& op, DType activation);
ErrorBounds error_bounds(const op::CacheAppend& op, DType activation);
ErrorBounds error_bounds(const op::SwiGlu& op, DType activation);
ErrorBounds error_bounds(const op::SwiGluGrad& op, DType activation);
ErrorBounds error_bounds(const op::Gelu& op, DType activation);
ErrorBounds error_bounds(const op::GeluGrad& op, DType activation);
ErrorBounds error_bounds(const op::Add& op, DType activation);
ErrorBounds error_bounds(const op::LinearCrossEntropy& op, DType activation);
ErrorBounds error_bounds(const op::AdamW& op, DType activation);
ErrorBounds error_bounds(const op::AdamW8bit& op, DType activation);
ErrorBounds error_bounds(const op::Cast& op, DType activation);
ErrorBounds error_bounds(const op::SplitWeight& op, DType activation);
ErrorBounds error_bounds(const op::Fill& op, DType activation);
ErrorBounds error_bounds(const op::FillNormal& op, DType activation);
ErrorBounds error_bounds(const op::SquaredNorm& op, DType activation);

// For writing bounds: one error per element of a tensor (none for an undefined one), and its element i.
inline std::vector<double> no_error(int64_t size) { return std::vector<double>(static_cast<size_t>(size), 0.0); }
inline std::vector<double> no_error(const Tensor& like) { return no_error(like.defined() ? like.num_elements() : 0); }
inline double& at(std::vector<double>& values, int64_t i) { return values[static_cast<size_t>(i)]; }

inline ErrorBounds error_bounds(const AnyOp& op, DType activation) {
  return std::visit([&](const auto& one) { return error_bounds(one, activation); }, op.variant);
}

}  // namespace owlet::test
