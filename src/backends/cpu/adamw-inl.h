// The formula of AdamW on vectors, per instruction set.

#if defined(OWLET_BACKENDS_CPU_ADAMW_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef OWLET_BACKENDS_CPU_ADAMW_INL_H_
#undef OWLET_BACKENDS_CPU_ADAMW_INL_H_
#else
#define OWLET_BACKENDS_CPU_ADAMW_INL_H_
#endif

#include "backends/cpu/adamw_factors.hpp"
#include "backends/cpu/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace owlet::cpu::HWY_NAMESPACE {

/// m and v become the new moments.
HWY_INLINE void adamw_moments(const AdamWFactors& f, V gradient, V& m, V& v) {
  const V g = hn::Mul(gradient, set(f.gradient_scale));
  m = hn::MulAdd(set(f.beta1), m, hn::Mul(set(f.rest1), g));
  v = hn::MulAdd(set(f.beta2), v, hn::Mul(set(f.rest2), hn::Mul(g, g)));
}

/// The new weight from the new m and the root of the new, corrected v.
HWY_INLINE V adamw_weight(const AdamWFactors& f, V weight, V m, V corrected_root) {
  const V deviation = hn::Add(corrected_root, set(f.eps));
  const V step_size = hn::Div(hn::Mul(m, set(f.inverse_correction1)), deviation);
  return hn::NegMulAdd(set(f.learning_rate), step_size, hn::Mul(weight, set(f.keep_rate)));
}

/// Both: m and v become the new moments; returns the new weight.
HWY_INLINE V adamw_elements(const AdamWFactors& f, V weight, V gradient, V& m, V& v) {
  adamw_moments(f, gradient, m, v);
  return adamw_weight(f, weight, m, hn::Sqrt(hn::Mul(v, set(f.inverse_correction2))));
}

}  // namespace owlet::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
