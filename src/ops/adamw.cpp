#include "ops/adamw.hpp"

#include "ops/checks.hpp"
#include "tensor/formats/moment_codes.hpp"

namespace owlet::op {

namespace {

/// Weight and gradient, whatever the moments are.
void check_weight(std::string_view op, const Tensor& weight, const Tensor& lower_bits, const Tensor& gradient) {
  check_activation(op, "weight", weight);
  check_f32_beside(op, "gradient", gradient, weight.shape(), weight);
  if (!lower_bits.defined()) return;
  check_shape(op, "lower_bits", lower_bits, weight.shape());
  check_dtype(op, "lower_bits", lower_bits, {DType::u16});
  check(weight.dtype() != DType::f32, ErrorKind::invalid_argument, "{}: lower_bits beside an f32 weight", op);
}

}  // namespace

void AdamWStep::check_step(std::string_view op) const {
  check(step >= 1 && step < int64_t{1} << 31, ErrorKind::invalid_argument, "{}: step is {}, expected 1 to 2^31 - 1", op,
        step);
}

void AdamW::check() const {
  check_weight(kName, weight, lower_bits, gradient);
  check_f32_beside(kName, "m", m, weight.shape(), weight);
  check_f32_beside(kName, "v", v, weight.shape(), weight);
  check_step(kName);
}

Cost AdamW::cost() const {
  return {14.0 * static_cast<double>(weight.num_elements()), bytes_of({&weight, &lower_bits, &gradient, &m, &v}),
          bytes_of({&weight, &lower_bits, &m, &v})};
}

void AdamW8bit::check() const {
  check_weight(kName, weight, lower_bits, gradient);
  check_shape(kName, "m", m, weight.shape());
  check_dtype(kName, "m", m, {DType::i8});
  check_shape(kName, "v", v, weight.shape());
  check_dtype(kName, "v", v, {DType::u8});
  const Shape scales{formats::num_moment_blocks(weight.num_elements())};
  check_f32_beside(kName, "m_scale", m_scale, scales, weight);
  check_f32_beside(kName, "v_scale", v_scale, scales, weight);
  check_step(kName);
}

Cost AdamW8bit::cost() const {
  return {18.0 * static_cast<double>(weight.num_elements()),
          bytes_of({&weight, &lower_bits, &gradient, &m, &v, &m_scale, &v_scale}),
          bytes_of({&weight, &lower_bits, &m, &v, &m_scale, &v_scale})};
}

}  // namespace owlet::op
