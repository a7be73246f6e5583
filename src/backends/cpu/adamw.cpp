// AdamW on the CPU: one pass over weight, gradient and both moments.
#include "backends/cpu/kernels.hpp"
#include "backends/cpu/simd_targets.hpp"
#include "base/parallel_for.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/adamw.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
//
#include "backends/cpu/adamw-inl.h"

HWY_BEFORE_NAMESPACE();
namespace owlet::cpu::HWY_NAMESPACE {

/// Elements [begin, begin + count). `bits`: random words of these elements, for dithered weights.
template <typename Weights>
HWY_INLINE void update_elements(const op::AdamW& op, const AdamWFactors& factors, const Weights& all, int64_t begin,
                                size_t count, const uint32_t* bits) {
  const Weights weights = all.from(begin);
  const float* gradient = op.gradient.data<float>() + begin;
  float* m = op.m.data<float>() + begin;
  float* v = op.v.data<float>() + begin;
  for_each_vector(count, [&](size_t i, auto lanes) HWY_ATTR {
    V new_m = load(lanes, m + i), new_v = load(lanes, v + i);
    const V new_weight = adamw_elements(factors, weights.get(lanes, i), load(lanes, gradient + i), new_m, new_v);
    store(lanes, new_m, m + i);
    store(lanes, new_v, v + i);
    weights.put(lanes, i, new_weight, bits);
  });
}

/// `begin` is a multiple of kBitsGroup. Random bits are made for several groups at a time: a group's rounds wait for
/// each other, different groups' do not.
void update_dithered(const op::AdamW& op, const AdamWFactors& factors, int64_t begin, int64_t end) {
  constexpr size_t kGroups = 4, kElements = kGroups * kBitsGroup;
  const PhiloxKeys keys(op.seed);
  const DitheredWeights weights{op.weight.data<bf16>()};
  HWY_ALIGN uint32_t bits[kElements];
  for (int64_t first = begin; first < end; first += static_cast<int64_t>(kElements)) {
    for (size_t group = 0; group < kGroups; ++group) {
      fill_element_bits(keys, op.stream, op.weight_draw(), static_cast<uint64_t>(first) / kBitsGroup + group,
                        bits + group * kBitsGroup);
    }
    update_elements(op, factors, weights, first, std::min(kElements, static_cast<size_t>(end - first)), bits);
  }
}

void adamw_range(const op::AdamW& op, const AdamWFactors& factors, int64_t begin, int64_t end) {
  const auto count = static_cast<size_t>(end - begin);
  if (op.lower_bits.defined()) {
    const SplitWeights weights{op.weight.data<bf16>(), op.lower_bits.data<uint16_t>()};
    update_elements(op, factors, weights, begin, count, nullptr);
  } else if (op.weight.dtype() == DType::bf16) {
    update_dithered(op, factors, begin, end);
  } else {
    update_elements(op, factors, WholeWeights{op.weight.data<float>()}, begin, count, nullptr);
  }
}

}  // namespace owlet::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace owlet::cpu {

HWY_EXPORT(adamw_range);

void run(const op::AdamW& op, KernelContext&) {
  const AdamWFactors factors(op);
  parallel_sweep(op.weight.num_elements(), kElementsPerRange, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(adamw_range)(op, factors, begin, end);
  });
}

}  // namespace owlet::cpu
#endif
