// Error bounds of operations on single elements, and of the sum of squares.
#include <cmath>
#include <numbers>

#include "backends/reference/kernels.hpp"
#include "tests/support/error_bounds.hpp"

namespace owlet::test {

using reference::f64;

namespace {

/// Accuracy that kernels promise for the normal distribution function, lower tail included: 8 units in the last place.
constexpr double kCdfRoundings = 16;

/// Accuracy that kernels promise for normal random numbers, given the random bits.
constexpr double kNormalRoundings = 10;

double sigmoid(double z) { return 1 / (1 + std::exp(-z)); }

/// How wrong the exponentials of a sigmoid may be whose results are in `activation`: far below a rounding to bf16.
double exp_roundings(DType activation) { return activation == DType::bf16 ? kNarrowExpRoundings : kExpRoundings; }

/// Error of sigmoid(z) where z itself is wrong by `argument_error`: its slope is s (1 - s); the exponential's relative
/// error acts like an error of z; then a sum and a quotient.
double sigmoid_error(double s, double argument_error, DType activation) {
  return s * (1 - s) * (argument_error + exp_roundings(activation) * kF32Roundoff) + gamma(2.0) * s;
}
/// The same of an exact z; for bf16 a power of two of z times a constant is taken.
double sigmoid_error_at(double z, DType activation) {
  return sigmoid_error(sigmoid(z), activation == DType::bf16 ? gamma(2.0) * std::abs(z) : 0, activation);
}

/// 2 z of the tanh form of GELU, for which (1 + tanh z) / 2 = sigmoid(2 z), and its slope.
double tanh_argument(double x) { return 2 * std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x); }
double tanh_argument_slope(double x) { return 2 * std::sqrt(2 / std::numbers::pi) * (1 + 3 * 0.044715 * x * x); }
/// The argument is a sum of terms of one sign after five products, constants rounded: 7 roundings.
double tanh_sigmoid_error(double x, DType activation) {
  return sigmoid_error(sigmoid(tanh_argument(x)), gamma(7.0) * std::abs(tanh_argument(x)), activation);
}

double normal_cdf(double x) { return 0.5 * std::erfc(-x / std::numbers::sqrt2); }
double normal_density(double x) { return std::exp(-0.5 * x * x) / std::sqrt(2 * std::numbers::pi); }

template <typename Error>
ErrorBound per_element(const Tensor& like, Error error_of) {
  std::vector<double> error = no_error(like);
  for (int64_t i = 0; i < like.num_elements(); ++i) at(error, i) = error_of(i);
  return {error};
}

}  // namespace

ErrorBounds error_bounds(const op::SwiGlu& op, DType activation) {
  return {{"y", per_element(op.y, [&](int64_t i) {
             const double gate = f64(op.gate)[i], s = sigmoid(gate);
             return std::abs(gate * f64(op.up)[i]) * (sigmoid_error_at(gate, activation) + gamma(2.0) * s);
           })}};
}

ErrorBounds error_bounds(const op::SwiGluGrad& op, DType activation) {
  const auto dgate = [&](int64_t i) {
    const double gate = f64(op.gate)[i], s = sigmoid(gate);
    const double terms = s + std::abs(gate) * s * (1 - s);
    return std::abs(f64(op.dy)[i] * f64(op.up)[i]) *
           (sigmoid_error_at(gate, activation) * (1 + std::abs(gate)) + gamma(7.0) * terms);
  };
  const auto dup = [&](int64_t i) {
    const double gate = f64(op.gate)[i], s = sigmoid(gate);
    return std::abs(f64(op.dy)[i] * gate) * (sigmoid_error_at(gate, activation) + gamma(2.0) * s);
  };
  return {{"dgate", per_element(op.dy, dgate)}, {"dup", per_element(op.dy, dup)}};
}

ErrorBounds error_bounds(const op::Gelu& op, DType activation) {
  return {{"y", per_element(op.y, [&](int64_t i) {
             const double x = f64(op.x)[i];
             if (op.kind == GeluKind::exact) return std::abs(x) * normal_cdf(x) * gamma(kCdfRoundings + 1);
             return std::abs(x) * (tanh_sigmoid_error(x, activation) + gamma(2.0) * sigmoid(tanh_argument(x)));
           })}};
}

ErrorBounds error_bounds(const op::GeluGrad& op, DType activation) {
  return {{"dx", per_element(op.dy, [&](int64_t i) {
             const double x = f64(op.x)[i], dy = std::abs(f64(op.dy)[i]);
             if (op.kind == GeluKind::exact) {
               const double cdf = normal_cdf(x), density_term = std::abs(x) * normal_density(x);
               return dy * (gamma(kCdfRoundings + 2) * cdf + gamma(kExpRoundings + 6) * density_term);
             }
             // slope = s + x s (1 - s) a', a' the slope of the argument.
             const double s = sigmoid(tanh_argument(x)), factor = std::abs(x) * tanh_argument_slope(x);
             return dy * (tanh_sigmoid_error(x, activation) * (1 + factor) + gamma(10.0) * (s + factor * s * (1 - s)));
           })}};
}

// The sum itself, before it is rounded to the result's type.
ErrorBounds error_bounds(const op::Add& op, DType) {
  return {{"y", per_element(op.y, [&](int64_t i) { return kF32Roundoff * std::abs(f64(op.y)[i]); })}};
}

// Rounded once, so exact after rounding.
ErrorBounds error_bounds(const op::Cast&, DType) { return {{"y", {}}}; }
ErrorBounds error_bounds(const op::SplitWeight&, DType) { return {{"weight", {}}, {"lower_bits", {}}}; }
ErrorBounds error_bounds(const op::Fill&, DType) { return {{"y", {}}}; }

// mean + deviation * normal in f32, the normal number wrong by up to kNormalRoundings.
ErrorBounds error_bounds(const op::FillNormal& op, DType) {
  return {{"y", per_element(op.y, [&](int64_t i) {
             const double mean = double{op.mean}, y = f64(op.y)[i];
             return gamma(2.0) * std::abs(mean) + gamma(2.0 + kNormalRoundings) * std::abs(y - mean);
           })}};
}

// Squares of f32 are exact in f64, in which kernels sum.
ErrorBounds error_bounds(const op::SquaredNorm& op, DType) {
  const double terms = static_cast<double>(op.x.num_elements());
  return {{"result", {{terms * unit_roundoff(DType::f64) * f64(op.result)[0]}}}};
}

}  // namespace owlet::test
