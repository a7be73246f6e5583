// Add on the CPU. Also the smallest example of a kernel with run-time dispatch; a new one follows the same three parts:
//   1. the preamble: HWY_TARGET_INCLUDE names this very file, which foreach_target.h includes once per instruction set;
//   2. between HWY_BEFORE_NAMESPACE and HWY_AFTER_NAMESPACE, what is compiled per instruction set: a function on a
//   range;
//   3. inside #if HWY_ONCE, what is compiled once: run(), which spreads ranges over the threads and dispatches.
#include "backends/cpu/instruction_set.hpp"
#include "backends/cpu/kernels.hpp"
#include "backends/cpu/simd_targets.hpp"
#include "backends/cpu/streaming.hpp"
#include "base/parallel_for.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/add.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
//
#include "backends/cpu/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace owlet::cpu::HWY_NAMESPACE {

template <typename T>
void add_elements(const T* a, const T* b, T* y, size_t count, StoreMode mode) {
  put_each(count, mode, y,
           [&](size_t i, auto lanes) HWY_ATTR { return hn::Add(load(lanes, a + i), load(lanes, b + i)); });
}

void add_range(const op::Add& op, StoreMode mode, int64_t begin, int64_t end) {
  const auto count = static_cast<size_t>(end - begin);
  if (op.y.dtype() == DType::bf16) {
    add_elements(op.a.data<bf16>() + begin, op.b.data<bf16>() + begin, op.y.data<bf16>() + begin, count, mode);
  } else {
    add_elements(op.a.data<float>() + begin, op.b.data<float>() + begin, op.y.data<float>() + begin, count, mode);
  }
}

}  // namespace owlet::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace owlet::cpu {

HWY_EXPORT(add_range);

void run(const op::Add& op, KernelContext&) {
  const StoreMode mode{is_streamed(op.y), has_bf16_products()};
  parallel_sweep(op.y.num_elements(), kElementsPerRange, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(add_range)(op, mode, begin, end);
  });
}

}  // namespace owlet::cpu
#endif
