// AdamW on the CPU: one pass over weight, gradient and both moments.
#include "backends/cpu/kernels.hpp"
#include "backends/cpu/simd_targets.hpp"
#include "base/parallel_for.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/adamw.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
//
#include "backends/cpu/adamw-inl.h"
#include "backends/cpu/element_bits-inl.h"
#include "backends/cpu/split_weight-inl.h"

HWY_BEFORE_NAMESPACE();
namespace owlet::cpu::HWY_NAMESPACE {

void adamw_range(const op::AdamW& op, const AdamWFactors& factors, int64_t begin, int64_t end) {
  float* weight = op.weight.data<float>() + begin;
  const float* gradient = op.gradient.data<float>() + begin;
  float* m = op.m.data<float>() + begin;
  float* v = op.v.data<float>() + begin;
  for_each_vector(static_cast<size_t>(end - begin), [&](size_t i, auto lanes) HWY_ATTR {
    V new_m = load(lanes, m + i), new_v = load(lanes, v + i);
    const V new_weight = adamw_elements(factors, load(lanes, weight + i), load(lanes, gradient + i), new_m, new_v);
    store(lanes, new_m, m + i);
    store(lanes, new_v, v + i);
    store(lanes, new_weight, weight + i);
  });
}

/// The same for an f32 weight in two halves.
void adamw_split_range(const op::AdamW& op, const AdamWFactors& factors, int64_t begin, int64_t end) {
  bf16* upper = op.weight.data<bf16>() + begin;
  uint16_t* lower = op.lower_bits.data<uint16_t>() + begin;
  const float* gradient = op.gradient.data<float>() + begin;
  float* m = op.m.data<float>() + begin;
  float* v = op.v.data<float>() + begin;
  for_each_vector(static_cast<size_t>(end - begin), [&](size_t i, auto lanes) HWY_ATTR {
    V new_m = load(lanes, m + i), new_v = load(lanes, v + i);
    const V weight = load_joined(lanes, upper + i, lower + i);
    const V new_weight = adamw_elements(factors, weight, load(lanes, gradient + i), new_m, new_v);
    store(lanes, new_m, m + i);
    store(lanes, new_v, v + i);
    store_split(lanes, new_weight, upper + i, lower + i);
  });
}

/// The same for a weight in bf16 alone; `begin` is a multiple of kBitsGroup. Random bits are made for several groups at
/// a time: a group's rounds wait for each other, different groups' do not.
void adamw_dithered_range(const op::AdamW& op, const AdamWFactors& factors, int64_t begin, int64_t end) {
  constexpr size_t kGroups = 4, kElements = kGroups * kBitsGroup;
  const PhiloxKeys keys(op.seed);
  HWY_ALIGN uint32_t bits[kElements];
  for (int64_t first = begin; first < end; first += static_cast<int64_t>(kElements)) {
    for (size_t group = 0; group < kGroups; ++group) {
      fill_element_bits(keys, op.stream, op.weight_draw(), static_cast<uint64_t>(first) / kBitsGroup + group,
                        bits + group * kBitsGroup);
    }
    bf16* weight = op.weight.data<bf16>() + first;
    const float* gradient = op.gradient.data<float>() + first;
    float* m = op.m.data<float>() + first;
    float* v = op.v.data<float>() + first;
    const size_t count = std::min(kElements, static_cast<size_t>(end - first));
    for_each_vector(count, [&](size_t i, auto lanes) HWY_ATTR {
      V new_m = load(lanes, m + i), new_v = load(lanes, v + i);
      const V new_weight = adamw_elements(factors, load(lanes, weight + i), load(lanes, gradient + i), new_m, new_v);
      store(lanes, new_m, m + i);
      store(lanes, new_v, v + i);
      store_dithered(lanes, new_weight, hn::LoadU(DU32(), bits + i), weight + i);
    });
  }
}

}  // namespace owlet::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace owlet::cpu {

HWY_EXPORT(adamw_range);
HWY_EXPORT(adamw_split_range);
HWY_EXPORT(adamw_dithered_range);

void run(const op::AdamW& op, KernelContext&) {
  const AdamWFactors factors(op);
  const bool is_split = op.lower_bits.defined(), is_dithered = op.weight.dtype() == DType::bf16 && !is_split;
  parallel_sweep(op.weight.num_elements(), kElementsPerRange, [&](int64_t begin, int64_t end) {
    if (is_split) {
      HWY_DYNAMIC_DISPATCH(adamw_split_range)(op, factors, begin, end);
    } else if (is_dithered) {
      HWY_DYNAMIC_DISPATCH(adamw_dithered_range)(op, factors, begin, end);
    } else {
      HWY_DYNAMIC_DISPATCH(adamw_range)(op, factors, begin, end);
    }
  });
}

}  // namespace owlet::cpu
#endif
