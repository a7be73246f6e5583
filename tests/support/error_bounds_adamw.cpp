// Error bounds of the optimizers.
#include <cmath>

#include "backends/reference/kernels.hpp"
#include "tensor/formats/moment_codes.hpp"
#include "tests/support/error_bounds.hpp"

namespace owlet::test {

using formats::FirstMomentCode;
using formats::SecondMomentCode;
using reference::f64;

namespace {

template <typename Error>
ErrorBound per_element(const Tensor& like, Error error_of) {
  std::vector<double> error = no_error(like);
  for (int64_t i = 0; i < like.num_elements(); ++i) at(error, i) = error_of(i);
  return {error};
}

/// What random rounding adds to rounding to nearest, which the harness allows for already.
double dither_error(DType stored, double weight) {
  return stored == DType::bf16 ? unit_roundoff(DType::bf16) * std::abs(weight) : 0.0;
}

/// Bounds of the weight; `step_size(i)` bounds m / (sqrt(v) + eps), whose `num_roundings` count those of m and v.
template <typename StepSize>
void add_weight_bounds(ErrorBounds& bounds, const op::AdamWStep& step, const Tensor& weight, const Tensor& lower_bits,
                       DType activation, double num_roundings, StepSize step_size) {
  const auto weight_error = [&](int64_t i) {
    const double update = double{step.learning_rate} * step_size(i);
    return gamma(3.0) * (std::abs(f64(weight)[i]) + update) + gamma(num_roundings) * update +
           dither_error(lower_bits.defined() ? DType::bf16 : activation, f64(weight)[i]);
  };
  bounds["weight"] = per_element(weight, weight_error);
  if (!lower_bits.defined()) return;
  // Lower halves mean nothing alone: adamw_test.cpp looks at whole weights. The reference rounds the upper ones as
  // well, which is as far from the kernel's as a dithered weight may be.
  bounds["lower_bits"] = per_element(lower_bits, [](int64_t) { return 65535.0; });
}

double correction(float beta, int64_t step) { return 1 - std::pow(double{beta}, static_cast<double>(step)); }

}  // namespace

// The corrections 1 - beta^step are computed in double. The old m is at most |new m| + 2 (1 - beta1) |g| in size after
// weighting, the old weight at most |new weight| + |update|.
ErrorBounds error_bounds(const op::AdamW& op, DType activation) {
  const double correction1 = correction(op.beta1, op.step), correction2 = correction(op.beta2, op.step);
  const auto m_size = [&](int64_t i) {
    return std::abs(f64(op.m)[i]) +
           2 * (1 - double{op.beta1}) * std::abs(f64(op.gradient)[i] * double{op.gradient_scale});
  };
  const auto step_size = [&](int64_t i) {
    return m_size(i) / correction1 / (std::sqrt(f64(op.v)[i] / correction2) + double{op.eps});
  };
  ErrorBounds bounds{{"m", per_element(op.m, [&](int64_t i) { return gamma(4.0) * m_size(i); })},
                     {"v", per_element(op.v, [&](int64_t i) { return gamma(6.0) * f64(op.v)[i]; })}};
  add_weight_bounds(bounds, op, op.weight, op.lower_bits, activation, 14, step_size);
  return bounds;
}

// Old moments are a code's exact magnitude times a quotient: two roundings more than in f32, four in v, halved by its
// root. The new moments are known by their codes: m lies below the magnitude of the next code, sqrt(v) above that of
// the previous one, and v is at least (1 - beta2) g^2. A code may be the neighbour of the reference's, where a
// magnitude plus its dither falls on different sides of a border.
ErrorBounds error_bounds(const op::AdamW8bit& op, DType activation) {
  const double correction1 = correction(op.beta1, op.step), correction2 = correction(op.beta2, op.step);
  const auto g = [&](int64_t i) { return std::abs(f64(op.gradient)[i] * double{op.gradient_scale}); };
  const auto m_size = [&](int64_t i) {
    const int next = std::min(std::abs(int{op.m.data<int8_t>()[i]}) + 1, FirstMomentCode::kLargestCode);
    return FirstMomentCode::decode(next) / FirstMomentCode::largest() * f64(op.m_scale)[i / formats::kMomentBlock] +
           2 * (1 - double{op.beta1}) * g(i);
  };
  const auto step_size = [&](int64_t i) {
    const int previous = std::max(int{op.v.data<uint8_t>()[i]} - 1, 0);
    const double stored =
        SecondMomentCode::decode(previous) / SecondMomentCode::largest() * f64(op.v_scale)[i / formats::kMomentBlock];
    const double root = std::max(stored, std::sqrt(1 - double{op.beta2}) * g(i));
    return m_size(i) / correction1 / (root / std::sqrt(correction2) + double{op.eps});
  };
  const auto largest_in = [&](int64_t block, const auto& size) {
    double largest = 0;
    const int64_t begin = block * formats::kMomentBlock;
    const int64_t end = std::min(begin + formats::kMomentBlock, op.weight.num_elements());
    for (int64_t i = begin; i < end; ++i) largest = std::max(largest, size(i));
    return largest;
  };
  ErrorBounds bounds{
      {"m", per_element(op.m, [](int64_t) { return 1.0; })},
      {"v", per_element(op.v, [](int64_t) { return 1.0; })},
      {"m_scale", per_element(op.m_scale, [&](int64_t block) { return gamma(6.0) * largest_in(block, m_size); })},
      {"v_scale", per_element(op.v_scale, [&](int64_t block) { return gamma(8.0) * f64(op.v_scale)[block]; })}};
  add_weight_bounds(bounds, op, op.weight, op.lower_bits, activation, 20, step_size);
  return bounds;
}

}  // namespace owlet::test
