// AdamW on the CPU: one pass over weight, gradient and both moments.
#include <cmath>

#include "backends/cpu/kernels.hpp"
#include "backends/cpu/simd_targets.hpp"
#include "base/parallel_for.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/adamw.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
//
#include "backends/cpu/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace owlet::cpu::HWY_NAMESPACE {

void adamw_range(const op::AdamW& op, int64_t begin, int64_t end) {
  float* weight = op.weight.data<float>() + begin;
  const float* gradient = op.gradient.data<float>() + begin;
  float* m = op.m.data<float>() + begin;
  float* v = op.v.data<float>() + begin;
  bf16* copy = op.compute_copy.defined() ? op.compute_copy.data<bf16>() + begin : nullptr;
  // The corrections of the step are taken in double: 1 - beta2^step loses digits in f32 for small steps.
  const double step = static_cast<double>(op.step);
  const V inverse_correction1 = set(static_cast<float>(1.0 / (1.0 - std::pow(double{op.beta1}, step))));
  const V inverse_correction2 = set(static_cast<float>(1.0 / (1.0 - std::pow(double{op.beta2}, step))));
  const V beta1 = set(op.beta1), rest1 = set(static_cast<float>(1.0 - double{op.beta1}));
  const V beta2 = set(op.beta2), rest2 = set(static_cast<float>(1.0 - double{op.beta2}));
  const V keep_rate = set(static_cast<float>(1.0 - double{op.learning_rate} * double{op.weight_decay}));
  const V learning_rate = set(op.learning_rate), eps = set(op.eps), scale = set(op.gradient_scale);
  for_each_vector(static_cast<size_t>(end - begin), [&](size_t i, auto lanes) HWY_ATTR {
    const V g = hn::Mul(load(lanes, gradient + i), scale);
    const V new_m = hn::MulAdd(beta1, load(lanes, m + i), hn::Mul(rest1, g));
    const V new_v = hn::MulAdd(beta2, load(lanes, v + i), hn::Mul(rest2, hn::Mul(g, g)));
    const V deviation = hn::Add(hn::Sqrt(hn::Mul(new_v, inverse_correction2)), eps);
    const V step_size = hn::Div(hn::Mul(new_m, inverse_correction1), deviation);
    const V new_weight = hn::NegMulAdd(learning_rate, step_size, hn::Mul(load(lanes, weight + i), keep_rate));
    store(lanes, new_m, m + i);
    store(lanes, new_v, v + i);
    store(lanes, new_weight, weight + i);
    if (copy != nullptr) store(lanes, new_weight, copy + i);
  });
}

}  // namespace owlet::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace owlet::cpu {

HWY_EXPORT(adamw_range);

void run(const op::AdamW& op, KernelContext&) {
  parallel_for(op.weight.num_elements(), kElementsPerRange, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(adamw_range)(op, begin, end);
  });
}

}  // namespace owlet::cpu
#endif
