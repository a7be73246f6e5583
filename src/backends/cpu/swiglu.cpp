// SwiGlu and its gradient on the CPU.
#include "backends/cpu/instruction_set.hpp"
#include "backends/cpu/kernels.hpp"
#include "backends/cpu/simd_targets.hpp"
#include "backends/cpu/streaming.hpp"
#include "base/parallel_for.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/swiglu.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
//
#include "backends/cpu/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace owlet::cpu::HWY_NAMESPACE {

template <typename T>
void swiglu_range_of(const op::SwiGlu& op, StoreMode mode, int64_t begin, int64_t end) {
  const T* gate = op.gate.data<T>() + begin;
  const T* up = op.up.data<T>() + begin;
  T* y = op.y.data<T>() + begin;
  put_each(static_cast<size_t>(end - begin), mode, y, [&](size_t i, auto lanes) HWY_ATTR {
    const V z = load(lanes, gate + i);
    return hn::Mul(hn::Mul(z, sigmoid_for<T>(z)), load(lanes, up + i));
  });
}

void swiglu_range(const op::SwiGlu& op, StoreMode mode, int64_t begin, int64_t end) {
  op.y.dtype() == DType::bf16 ? swiglu_range_of<bf16>(op, mode, begin, end)
                              : swiglu_range_of<float>(op, mode, begin, end);
}

template <typename T>
void swiglu_grad_range_of(const op::SwiGluGrad& op, StoreMode mode, int64_t begin, int64_t end) {
  const T* dy = op.dy.data<T>() + begin;
  const T* gate = op.gate.data<T>() + begin;
  const T* up = op.up.data<T>() + begin;
  const GradientTarget dgate(op.dgate, begin), dup(op.dup, begin);
  put_both(static_cast<size_t>(end - begin), mode, dgate, dup, [&](size_t i, auto lanes, V& a, V& b) HWY_ATTR {
    const V g = load(lanes, dy + i), z = load(lanes, gate + i), u = load(lanes, up + i);
    const V s = sigmoid_for<T>(z);
    const V silu_slope = hn::Mul(s, hn::MulAdd(z, hn::Sub(set(1.0f), s), set(1.0f)));
    a = hn::Mul(hn::Mul(g, u), silu_slope);
    b = hn::Mul(g, hn::Mul(z, s));
  });
}

void swiglu_grad_range(const op::SwiGluGrad& op, StoreMode mode, int64_t begin, int64_t end) {
  if (op.dy.dtype() == DType::bf16) return swiglu_grad_range_of<bf16>(op, mode, begin, end);
  swiglu_grad_range_of<float>(op, mode, begin, end);
}

}  // namespace owlet::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace owlet::cpu {

HWY_EXPORT(swiglu_range);
HWY_EXPORT(swiglu_grad_range);

void run(const op::SwiGlu& op, KernelContext&) {
  const StoreMode mode{is_streamed(op.y), has_bf16_products()};
  parallel_sweep(op.y.num_elements(), kElementsPerRange, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(swiglu_range)(op, mode, begin, end);
  });
}

void run(const op::SwiGluGrad& op, KernelContext&) {
  const StoreMode mode{is_streamed(op.dgate) && is_streamed(op.dup), has_bf16_products()};
  parallel_sweep(op.dy.num_elements(), kElementsPerRange, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(swiglu_grad_range)(op, mode, begin, end);
  });
}

}  // namespace owlet::cpu
#endif
