// Cast, Fill, FillNormal, SquaredNorm and AdamW.
#include <cmath>
#include <cstring>

#include "backends/reference/kernels.hpp"
#include "base/random.hpp"

namespace owlet::reference {

void run(const op::Cast& op) {
  if (op.x.dtype() == op.y.dtype()) {
    if (op.x.size_bytes() > 0) std::memmove(op.y.bytes(), op.x.bytes(), op.x.size_bytes());
    return;
  }
  for (int64_t i = 0; i < op.x.num_elements(); ++i) set_element(op.y, i, element_as_double(op.x, i));
}

void run(const op::Fill& op) {
  for (int64_t i = 0; i < op.y.num_elements(); ++i) set_element(op.y, i, double{op.value});
}

void run(const op::FillNormal& op) {
  for (int64_t i = 0; i < op.y.num_elements(); ++i) {
    const double normal = random_normal(op.seed, op.stream, static_cast<uint64_t>(i));
    set_element(op.y, i, double{op.mean} + double{op.deviation} * normal);
  }
}

void run(const op::SquaredNorm& op) {
  double sum = 0;
  for (int64_t i = 0; i < op.x.num_elements(); ++i) sum += std::pow(element_as_double(op.x, i), 2);
  f64(op.result)[0] = sum;
}

void run(const op::AdamW& op) {
  const double beta1 = double{op.beta1}, beta2 = double{op.beta2}, learning_rate = double{op.learning_rate};
  const double correction1 = 1 - std::pow(beta1, static_cast<double>(op.step));
  const double correction2 = 1 - std::pow(beta2, static_cast<double>(op.step));
  for (int64_t i = 0; i < op.weight.num_elements(); ++i) {
    double &weight = f64(op.weight)[i], &m = f64(op.m)[i], &v = f64(op.v)[i];
    const double g = f64(op.gradient)[i] * double{op.gradient_scale};
    m = beta1 * m + (1 - beta1) * g;
    v = beta2 * v + (1 - beta2) * g * g;
    weight = weight * (1 - learning_rate * double{op.weight_decay}) -
             learning_rate * (m / correction1) / (std::sqrt(v / correction2) + double{op.eps});
    if (op.compute_copy.defined()) set_element(op.compute_copy, i, weight);
  }
}

}  // namespace owlet::reference
