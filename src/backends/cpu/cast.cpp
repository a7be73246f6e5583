// Cast and Fill on the CPU.
#include <cstring>

#include "backends/cpu/kernels.hpp"
#include "backends/cpu/simd_targets.hpp"
#include "base/parallel_for.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/cast.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
//
#include "backends/cpu/cast.hpp"
#include "backends/cpu/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace owlet::cpu::HWY_NAMESPACE {

void narrow_elements(const float* source, bf16* target, size_t count) {
  for_each_vector(count, [&](size_t i, auto lanes) HWY_ATTR { store(lanes, load(lanes, source + i), target + i); });
}

void widen_elements(const bf16* source, float* target, size_t count) {
  for_each_vector(count, [&](size_t i, auto lanes) HWY_ATTR { store(lanes, load(lanes, source + i), target + i); });
}

}  // namespace owlet::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace owlet::cpu {

HWY_EXPORT(narrow_elements);
HWY_EXPORT(widen_elements);

void narrow(const float* source, bf16* target, int64_t count) {
  parallel_for(count, kElementsPerRange, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(narrow_elements)(source + begin, target + begin, static_cast<size_t>(end - begin));
  });
}

void widen(const bf16* source, float* target, int64_t count) {
  parallel_for(count, kElementsPerRange, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(widen_elements)(source + begin, target + begin, static_cast<size_t>(end - begin));
  });
}

void run(const op::Cast& op, KernelContext&) {
  if (op.x.dtype() == op.y.dtype()) {
    const auto element_bytes = static_cast<int64_t>(size_of(op.x.dtype()));
    parallel_for(op.x.num_elements(), kElementsPerRange, [&](int64_t begin, int64_t end) {
      std::memcpy(op.y.bytes() + begin * element_bytes, op.x.bytes() + begin * element_bytes,
                  static_cast<size_t>((end - begin) * element_bytes));
    });
  } else if (op.x.dtype() == DType::f32) {
    narrow(op.x.data<float>(), op.y.data<bf16>(), op.x.num_elements());
  } else {
    widen(op.x.data<bf16>(), op.y.data<float>(), op.x.num_elements());
  }
}

namespace {

template <typename T>
void fill_with(const Tensor& y, T value) {
  T* elements = reinterpret_cast<T*>(y.bytes());
  parallel_for(y.num_elements(), kElementsPerRange,
               [&](int64_t begin, int64_t end) { std::fill(elements + begin, elements + end, value); });
}

}  // namespace

void run(const op::Fill& op, KernelContext&) {
  switch (op.y.dtype()) {
    case DType::bf16:
      return fill_with(op.y, bf16(op.value).bits);  // a plain integer: std::fill of a class stays scalar
    case DType::i32:
      return fill_with(op.y, static_cast<int32_t>(op.value));
    case DType::i8:
      return fill_with(op.y, static_cast<int8_t>(op.value));
    case DType::u8:
      return fill_with(op.y, static_cast<uint8_t>(op.value));
    default:
      return fill_with(op.y, op.value);
  }
}

}  // namespace owlet::cpu
#endif
