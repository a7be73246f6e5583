#include "ops/adamw.hpp"

#include "ops/checks.hpp"

namespace owlet::op {

void AdamW::check() const {
  check_dtype(kName, "weight", weight, {DType::f32, DType::f64});
  check_f32_beside(kName, "gradient", gradient, weight.shape(), weight);
  check_f32_beside(kName, "m", m, weight.shape(), weight);
  check_f32_beside(kName, "v", v, weight.shape(), weight);
  if (compute_copy.defined()) {
    check_shape(kName, "compute_copy", compute_copy, weight.shape());
    check_dtype(kName, "compute_copy", compute_copy, {DType::bf16});
  }
  owlet::check(step >= 1, ErrorKind::invalid_argument, "{}: step is {}, expected 1 or more", kName, step);
}

Cost AdamW::cost() const {
  return {14.0 * static_cast<double>(weight.num_elements()), bytes_of({&weight, &gradient, &m, &v}),
          bytes_of({&weight, &m, &v, &compute_copy})};
}

}  // namespace owlet::op
