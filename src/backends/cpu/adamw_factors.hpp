// The factors of one AdamW update, computed once for all elements.
#pragma once

#include <cmath>

#include "ops/adamw.hpp"

namespace owlet::cpu {

struct AdamWFactors {
  float beta1, rest1, beta2, rest2, inverse_correction1, inverse_correction2, inverse_root_correction2, keep_rate,
      learning_rate, eps, gradient_scale;

  explicit AdamWFactors(const op::AdamWStep& op)
      : beta1(op.beta1),
        rest1(static_cast<float>(1.0 - double{op.beta1})),
        beta2(op.beta2),
        rest2(static_cast<float>(1.0 - double{op.beta2})),
        // The corrections of the step are taken in double: 1 - beta2^step loses digits in f32 for small steps.
        inverse_correction1(static_cast<float>(1.0 / (1.0 - std::pow(double{op.beta1}, static_cast<double>(op.step))))),
        inverse_correction2(static_cast<float>(1.0 / (1.0 - std::pow(double{op.beta2}, static_cast<double>(op.step))))),
        inverse_root_correction2(
            static_cast<float>(1.0 / std::sqrt(1.0 - std::pow(double{op.beta2}, static_cast<double>(op.step))))),
        keep_rate(static_cast<float>(1.0 - double{op.learning_rate} * double{op.weight_decay})),
        learning_rate(op.learning_rate),
        eps(op.eps),
        gradient_scale(op.gradient_scale) {}
};

}  // namespace owlet::cpu
