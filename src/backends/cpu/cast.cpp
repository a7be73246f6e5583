// Cast, SplitWeight and Fill on the CPU.
#include <algorithm>
#include <bit>
#include <cstring>

#include "backends/cpu/kernels.hpp"
#include "backends/cpu/simd_targets.hpp"
#include "backends/cpu/streaming.hpp"
#include "base/parallel_for.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/cast.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
//
#include "backends/cpu/cast.hpp"
#include "backends/cpu/simd-inl.h"
#include "backends/cpu/split_weight-inl.h"

HWY_BEFORE_NAMESPACE();
namespace owlet::cpu::HWY_NAMESPACE {

void narrow_elements(const float* source, bf16* target, size_t count, bool streams) {
  put_each(count, {streams, false}, target, [&](size_t i, auto lanes) HWY_ATTR { return load(lanes, source + i); });
}

void widen_elements(const bf16* source, float* target, size_t count, bool streams) {
  for_each_vector(count, streams,
                  [&](size_t i, auto lanes) HWY_ATTR { store(lanes, load(lanes, source + i), target + i); });
}

void split_elements(const float* source, bf16* upper, uint16_t* lower, size_t count) {
  for_each_vector(
      count, [&](size_t i, auto lanes) HWY_ATTR { store_split(lanes, load(lanes, source + i), upper + i, lower + i); });
}

/// Copies past the caches where `streams` and the target is aligned.
void copy_range(const std::byte* source, std::byte* target, size_t size, bool streams) {
  const hn::ScalableTag<uint8_t> d8;
  const size_t step = hn::Lanes(d8);
  size_t i = 0;
  if (streams && reinterpret_cast<uintptr_t>(target) % step == 0) {
    const auto* from = reinterpret_cast<const uint8_t*>(source);
    auto* to = reinterpret_cast<uint8_t*>(target);
    for (; i + step <= size; i += step) hn::Stream(hn::LoadU(d8, from + i), d8, to + i);
    hwy::FlushStream();
  }
  std::memcpy(target + i, source + i, size - i);
}

/// Fills `size` bytes with a pattern of four; where `target` is not aligned to four, elements are shorter and all
/// alike.
void fill_bytes(std::byte* target, uint32_t pattern, size_t size, bool streams) {
  const V value = hn::BitCast(DF(), hn::Set(DU32(), pattern));
  const size_t step = num_lanes() * sizeof(float);
  size_t i = 0;
  if (streams) {
    for (; i + step <= size; i += step) store(Streamed{}, value, reinterpret_cast<float*>(target + i));
    hwy::FlushStream();
  }
  for (; i + step <= size; i += step) store(Whole{}, value, reinterpret_cast<float*>(target + i));
  for (; i < size; i += sizeof pattern) std::memcpy(target + i, &pattern, std::min(sizeof pattern, size - i));
}

}  // namespace owlet::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace owlet::cpu {

HWY_EXPORT(narrow_elements);
HWY_EXPORT(widen_elements);
HWY_EXPORT(split_elements);
HWY_EXPORT(fill_bytes);
HWY_EXPORT(copy_range);

void copy_bytes(const std::byte* source, std::byte* target, size_t size, bool streams) {
  HWY_DYNAMIC_DISPATCH(copy_range)(source, target, size, streams);
}

void narrow(const float* source, bf16* target, int64_t count, bool streams) {
  parallel_sweep(count, kElementsPerRange, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(narrow_elements)(source + begin, target + begin, static_cast<size_t>(end - begin), streams);
  });
}

void widen(const bf16* source, float* target, int64_t count, bool streams) {
  parallel_sweep(count, kElementsPerRange, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(widen_elements)(source + begin, target + begin, static_cast<size_t>(end - begin), streams);
  });
}

void run(const op::Cast& op, KernelContext&) {
  const int64_t count = op.x.num_elements();
  if (op.x.dtype() == op.y.dtype()) {
    const auto element_bytes = static_cast<int64_t>(size_of(op.x.dtype()));
    const bool streams = is_streamed(op.y);
    parallel_sweep(count, kElementsPerRange, [&](int64_t begin, int64_t end) {
      copy_bytes(op.x.bytes() + begin * element_bytes, op.y.bytes() + begin * element_bytes,
                 static_cast<size_t>((end - begin) * element_bytes), streams);
    });
  } else if (op.x.dtype() == DType::f32) {
    narrow(op.x.data<float>(), op.y.data<bf16>(), count, is_streamed(op.y));
  } else {
    widen(op.x.data<bf16>(), op.y.data<float>(), count, is_streamed(op.y));
  }
}

void run(const op::SplitWeight& op, KernelContext&) {
  parallel_sweep(op.x.num_elements(), kElementsPerRange, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(split_elements)
    (op.x.data<float>() + begin, op.weight.data<bf16>() + begin, op.lower_bits.data<uint16_t>() + begin,
     static_cast<size_t>(end - begin));
  });
}

namespace {

/// `value` as an element of the type, repeated to four bytes.
uint32_t pattern_of(float value, DType dtype) {
  switch (dtype) {
    case DType::bf16:
      return bf16(value).bits * 0x00010001u;
    case DType::i32:
      return static_cast<uint32_t>(static_cast<int32_t>(value));
    case DType::i8:
      return static_cast<uint8_t>(static_cast<int8_t>(value)) * 0x01010101u;
    case DType::u8:
      return static_cast<uint8_t>(value) * 0x01010101u;
    default:
      return std::bit_cast<uint32_t>(value);
  }
}

}  // namespace

void run(const op::Fill& op, KernelContext&) {
  constexpr int64_t kBytesPerRange = 1 << 16;
  const uint32_t pattern = pattern_of(op.value, op.y.dtype());
  const bool streams = is_streamed(op.y);
  parallel_sweep(static_cast<int64_t>(op.y.size_bytes()), kBytesPerRange, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(fill_bytes)(op.y.bytes() + begin, pattern, static_cast<size_t>(end - begin), streams);
  });
}

}  // namespace owlet::cpu
#endif
