// Gelu and its gradient on the CPU.
#include <type_traits>

#include "backends/cpu/instruction_set.hpp"
#include "backends/cpu/kernels.hpp"
#include "backends/cpu/simd_targets.hpp"
#include "backends/cpu/streaming.hpp"
#include "base/parallel_for.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/gelu.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
//
#include "backends/cpu/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace owlet::cpu::HWY_NAMESPACE {

inline constexpr float kSqrtTwoOverPi = 0.797884561f;
inline constexpr float kCubic = 0.044715f;
inline constexpr float kInverseSqrtTwoPi = 0.398942280f;

/// x/2 (1 + tanh u) = x sigmoid(2u): no cancellation for negative u.
struct TanhGelu {
  static HWY_INLINE V doubled_argument(V x) {
    const V square = hn::Mul(x, x);
    return hn::Mul(hn::Mul(x, set(2 * kSqrtTwoOverPi)), hn::MulAdd(square, set(kCubic), set(1.0f)));
  }
  static HWY_INLINE V value(V x) { return hn::Mul(x, sigmoid(doubled_argument(x))); }
  /// s + x s (1 - s) d(2u)/dx, with 1 - s taken as sigmoid(-2u).
  static HWY_INLINE V slope(V x) {
    const V z = doubled_argument(x);
    V s, rest;
    sigmoid_and_rest(z, s, rest);
    const V inner = hn::Mul(set(2 * kSqrtTwoOverPi), hn::MulAdd(hn::Mul(x, x), set(3 * kCubic), set(1.0f)));
    return hn::MulAdd(hn::Mul(hn::Mul(x, inner), s), rest, s);
  }
};

/// The same in fewer steps, for results in bf16: s = 1 / (1 + e) with e = 2^(-2u / ln 2), which may be infinite.
struct NarrowTanhGelu {
  static constexpr float kLinear = -2 * kSqrtTwoOverPi * kLog2E;
  static HWY_INLINE V divisor(V square, V x) {
    return hn::Add(set(1.0f), narrow_exp2(hn::Mul(x, hn::MulAdd(square, set(kLinear * kCubic), set(kLinear)))));
  }
  static HWY_INLINE V value(V x) { return hn::Div(x, divisor(hn::Mul(x, x), x)); }
  /// s (1 + x (1 - s) d(2u)/dx).
  static HWY_INLINE V slope(V x) {
    const V square = hn::Mul(x, x);
    const V s = hn::Div(set(1.0f), divisor(square, x)), rest = hn::Sub(set(1.0f), s);
    const V inner = hn::MulAdd(square, set(6 * kSqrtTwoOverPi * kCubic), set(2 * kSqrtTwoOverPi));
    return hn::Mul(s, hn::MulAdd(hn::Mul(x, inner), rest, set(1.0f)));
  }
};

template <typename T>
using TanhGeluFor = std::conditional_t<sizeof(T) == sizeof(float), TanhGelu, NarrowTanhGelu>;

struct ExactGelu {
  static HWY_INLINE V value(V x) { return hn::Mul(x, normal_cdf(x, gaussian(x))); }
  /// Phi(x) + x phi(x).
  static HWY_INLINE V slope(V x) {
    const V g = gaussian(x);
    return hn::MulAdd(hn::Mul(x, set(kInverseSqrtTwoPi)), g, normal_cdf(x, g));
  }
};

template <typename Kind, typename T>
void gelu_elements(const T* x, T* y, size_t count, StoreMode mode) {
  put_each(count, mode, y, [&](size_t i, auto lanes) HWY_ATTR { return Kind::value(load(lanes, x + i)); });
}

template <typename Kind, typename T>
void gelu_grad_elements(const T* dy, const T* x, const GradientTarget& dx, size_t count, StoreMode mode) {
  put_each(count, mode, dx, [&](size_t i, auto lanes) HWY_ATTR {
    return hn::Mul(load(lanes, dy + i), Kind::slope(load(lanes, x + i)));
  });
}

template <typename T>
void gelu_range_of(const op::Gelu& op, StoreMode mode, int64_t begin, int64_t end) {
  const T* x = op.x.data<T>() + begin;
  T* y = op.y.data<T>() + begin;
  const auto count = static_cast<size_t>(end - begin);
  op.kind == GeluKind::exact ? gelu_elements<ExactGelu>(x, y, count, mode)
                             : gelu_elements<TanhGeluFor<T>>(x, y, count, mode);
}

void gelu_range(const op::Gelu& op, StoreMode mode, int64_t begin, int64_t end) {
  op.x.dtype() == DType::bf16 ? gelu_range_of<bf16>(op, mode, begin, end) : gelu_range_of<float>(op, mode, begin, end);
}

template <typename T>
void gelu_grad_range_of(const op::GeluGrad& op, StoreMode mode, int64_t begin, int64_t end) {
  const T* dy = op.dy.data<T>() + begin;
  const T* x = op.x.data<T>() + begin;
  const GradientTarget dx(op.dx, begin);
  const auto count = static_cast<size_t>(end - begin);
  if (op.kind == GeluKind::exact) {
    gelu_grad_elements<ExactGelu>(dy, x, dx, count, mode);
  } else {
    gelu_grad_elements<TanhGeluFor<T>>(dy, x, dx, count, mode);
  }
}

void gelu_grad_range(const op::GeluGrad& op, StoreMode mode, int64_t begin, int64_t end) {
  op.x.dtype() == DType::bf16 ? gelu_grad_range_of<bf16>(op, mode, begin, end)
                              : gelu_grad_range_of<float>(op, mode, begin, end);
}

}  // namespace owlet::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace owlet::cpu {

HWY_EXPORT(gelu_range);
HWY_EXPORT(gelu_grad_range);

void run(const op::Gelu& op, KernelContext&) {
  const StoreMode mode{is_streamed(op.y), has_bf16_products()};
  parallel_sweep(op.x.num_elements(), kElementsPerRange, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(gelu_range)(op, mode, begin, end);
  });
}

void run(const op::GeluGrad& op, KernelContext&) {
  if (!op.dx.is_wanted()) return;
  const StoreMode mode{is_streamed(op.dx), has_bf16_products()};
  parallel_sweep(op.x.num_elements(), kElementsPerRange, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(gelu_grad_range)(op, mode, begin, end);
  });
}

}  // namespace owlet::cpu
#endif
