// SquaredNorm on the CPU: sums in double, per range, then over the ranges in their order.
#include <vector>

#include "backends/cpu/kernels.hpp"
#include "backends/cpu/simd_targets.hpp"
#include "base/parallel_for.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/squared_norm.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
//
#include "backends/cpu/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace owlet::cpu::HWY_NAMESPACE {

#if HWY_HAVE_FLOAT64 && HWY_TARGET != HWY_SCALAR
/// Squares are taken in double, where the product of two f32 is exact. Eight sums, so that additions do not wait for
/// each other.
template <typename T>
double sum_of_squares(const T* x, size_t count) {
  const hn::ScalableTag<double> dd;
  const hn::Half<DF> half;
  using VD = hn::Vec<decltype(dd)>;
  VD low0 = hn::Zero(dd), low1 = low0, low2 = low0, low3 = low0, high0 = low0, high1 = low0, high2 = low0, high3 = low0;
  const auto add_squares = [&](V value, VD& low_sum, VD& high_sum) HWY_ATTR {
    const auto low = hn::PromoteTo(dd, hn::LowerHalf(half, value));
    const auto high = hn::PromoteTo(dd, hn::UpperHalf(half, value));
    low_sum = hn::MulAdd(low, low, low_sum);
    high_sum = hn::MulAdd(high, high, high_sum);
  };
  const size_t step = num_lanes();
  size_t i = 0;
  for (; i + 4 * step <= count; i += 4 * step) {
    add_squares(load(Whole{}, x + i), low0, high0);
    add_squares(load(Whole{}, x + i + step), low1, high1);
    add_squares(load(Whole{}, x + i + 2 * step), low2, high2);
    add_squares(load(Whole{}, x + i + 3 * step), low3, high3);
  }
  for_each_vector(count - i, [&](size_t k, auto lanes) HWY_ATTR { add_squares(load(lanes, x + i + k), low0, high0); });
  const auto low = hn::Add(hn::Add(low0, low1), hn::Add(low2, low3));
  const auto high = hn::Add(hn::Add(high0, high1), hn::Add(high2, high3));
  return hn::GetLane(hn::SumOfLanes(dd, hn::Add(low, high)));
}
#else
template <typename T>
double sum_of_squares(const T* x, size_t count) {
  double sum = 0;
  for (size_t i = 0; i < count; ++i) {
    const double value = static_cast<float>(x[i]);
    sum += value * value;
  }
  return sum;
}
#endif

double sum_of_squares_range(const Tensor& x, int64_t begin, int64_t end) {
  const auto count = static_cast<size_t>(end - begin);
  if (x.dtype() == DType::bf16) return sum_of_squares(x.data<bf16>() + begin, count);
  return sum_of_squares(x.data<float>() + begin, count);
}

}  // namespace owlet::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace owlet::cpu {

HWY_EXPORT(sum_of_squares_range);

void run(const op::SquaredNorm& op, KernelContext&) {
  const int64_t count = op.x.num_elements();
  std::vector<double> partial_sums(static_cast<size_t>((count + kElementsPerRange - 1) / kElementsPerRange));
  parallel_sweep(count, kElementsPerRange, [&](int64_t begin, int64_t end) {
    partial_sums[static_cast<size_t>(begin / kElementsPerRange)] =
        HWY_DYNAMIC_DISPATCH(sum_of_squares_range)(op.x, begin, end);
  });
  double sum = 0;
  for (const double partial : partial_sums) sum += partial;
  op.result.data<double>()[0] = sum;
}

}  // namespace owlet::cpu
#endif
