// AdamW with f64 moments and with moments of eight bits.
#include <cmath>

#include "backends/reference/kernels.hpp"
#include "base/random.hpp"
#include "tensor/formats/moment_codes.hpp"
#include "tensor/formats/split_weight.hpp"

namespace owlet::reference {

namespace {

using formats::FirstMomentCode;
using formats::kMomentBlock;
using formats::SecondMomentCode;

/// One element: m and v become the new ones; returns the new weight.
double update_element(const op::AdamWStep& step, double weight, double gradient, double& m, double& v) {
  const double beta1 = double{step.beta1}, beta2 = double{step.beta2}, learning_rate = double{step.learning_rate};
  const double correction1 = 1 - std::pow(beta1, static_cast<double>(step.step));
  const double correction2 = 1 - std::pow(beta2, static_cast<double>(step.step));
  const double g = gradient * double{step.gradient_scale};
  m = beta1 * m + (1 - beta1) * g;
  v = beta2 * v + (1 - beta2) * g * g;
  return weight * (1 - learning_rate * double{step.weight_decay}) -
         learning_rate * (m / correction1) / (std::sqrt(v / correction2) + double{step.eps});
}

/// The weight at `i`, with its lower half where there is one.
template <typename Op>
double weight_at(const Op& op, int64_t i) {
  const double weight = f64(op.weight)[i];
  if (!op.lower_bits.defined()) return weight;
  return double{formats::join_weight(bf16(static_cast<float>(weight)), op.lower_bits.template data<uint16_t>()[i])};
}

template <typename Op>
void set_weight(const Op& op, int64_t i, double weight) {
  f64(op.weight)[i] = weight;
  if (!op.lower_bits.defined()) return;
  const formats::SplitWeight halves = formats::split_weight(static_cast<float>(weight));
  f64(op.weight)[i] = double{static_cast<float>(halves.upper)};
  op.lower_bits.template data<uint16_t>()[i] = halves.lower;
}

/// Largest magnitude, NaN if one is NaN.
double largest_of(const double* values, int64_t count) {
  double largest = 0;
  for (int64_t i = 0; i < count; ++i) {
    const double magnitude = std::abs(values[i]);
    if (std::isnan(magnitude) || magnitude > largest) largest = magnitude;
    if (std::isnan(largest)) break;
  }
  return largest;
}

double inverse_scale(double largest, double scale) {
  return scale < double{formats::kLeastMomentScale} ? 0.0 : largest / scale;
}

/// 16 random bits as a number inside (0, 1).
double dither_of(uint32_t bits16) { return (static_cast<double>(bits16) + 0.5) / 65536.0; }

void update_block(const op::AdamW8bit& op, int64_t begin, int64_t count) {
  const int64_t block = begin / kMomentBlock;
  double m[kMomentBlock], s[kMomentBlock];  // s: square roots of v
  const double m_unit = f64(op.m_scale)[block] / FirstMomentCode::largest();
  const double s_unit = f64(op.v_scale)[block] / SecondMomentCode::largest();
  for (int64_t i = 0; i < count; ++i) {
    const int64_t element = begin + i;
    const int code = op.m.data<int8_t>()[element];
    m[i] = (code < 0 ? -1 : 1) * FirstMomentCode::decode(std::abs(code)) * m_unit;
    double v = std::pow(SecondMomentCode::decode(op.v.data<uint8_t>()[element]) * s_unit, 2);
    set_weight(op, element, update_element(op, weight_at(op, element), f64(op.gradient)[element], m[i], v));
    s[i] = std::sqrt(v);
  }
  const double m_scale = f64(op.m_scale)[block] = largest_of(m, count);
  const double v_scale = f64(op.v_scale)[block] = largest_of(s, count);
  for (int64_t i = 0; i < count; ++i) {
    const uint32_t bits = element_bits(op.seed, op.stream, op.moment_draw(), static_cast<uint64_t>(begin + i));
    const double m_magnitude = std::abs(m[i]) * inverse_scale(FirstMomentCode::largest(), m_scale);
    const int code = FirstMomentCode::encode(m_magnitude, dither_of(bits & 0xffff));
    op.m.data<int8_t>()[begin + i] = static_cast<int8_t>(m[i] < 0 ? -code : code);
    const double s_magnitude = s[i] * inverse_scale(SecondMomentCode::largest(), v_scale);
    const int v_code = SecondMomentCode::encode(s_magnitude, dither_of(bits >> 16));
    op.v.data<uint8_t>()[begin + i] = static_cast<uint8_t>(s[i] > 0 ? std::max(v_code, 1) : v_code);
  }
}

}  // namespace

void run(const op::AdamW& op) {
  for (int64_t i = 0; i < op.weight.num_elements(); ++i) {
    set_weight(op, i, update_element(op, weight_at(op, i), f64(op.gradient)[i], f64(op.m)[i], f64(op.v)[i]));
  }
}

void run(const op::AdamW8bit& op) {
  const int64_t count = op.weight.num_elements();
  for (int64_t begin = 0; begin < count; begin += kMomentBlock) {
    update_block(op, begin, std::min(kMomentBlock, count - begin));
  }
}

}  // namespace owlet::reference
