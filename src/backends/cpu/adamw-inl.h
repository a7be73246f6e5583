// The formula of AdamW on vectors, and the forms in which weights are stored, per instruction set.

#if defined(OWLET_BACKENDS_CPU_ADAMW_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef OWLET_BACKENDS_CPU_ADAMW_INL_H_
#undef OWLET_BACKENDS_CPU_ADAMW_INL_H_
#else
#define OWLET_BACKENDS_CPU_ADAMW_INL_H_
#endif

#include <cstring>

#include "backends/cpu/adamw_factors.hpp"
#include "backends/cpu/element_bits-inl.h"
#include "backends/cpu/simd-inl.h"
#include "backends/cpu/split_weight-inl.h"

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

// Where weights begin that are f32, f32 in two halves, or bf16, and how vectors of them are read and written; the
// random bits, one word for each element from there on, are for those in bf16.

struct WholeWeights {
  static constexpr bool kIsDithered = false;
  float* weight;
  template <typename Lanes>
  HWY_INLINE V get(Lanes lanes, size_t i) const {
    return load(lanes, weight + i);
  }
  template <typename Lanes>
  HWY_INLINE void put(Lanes lanes, size_t i, V value, const uint32_t*) const {
    store(lanes, value, weight + i);
  }
  WholeWeights from(int64_t begin) const { return {weight + begin}; }
  void copy_to(const WholeWeights& target, size_t count) const {
    std::memcpy(target.weight, weight, count * sizeof(float));
  }
};

struct SplitWeights {
  static constexpr bool kIsDithered = false;
  bf16* upper;
  uint16_t* lower;
  template <typename Lanes>
  HWY_INLINE V get(Lanes lanes, size_t i) const {
    return load_joined(lanes, upper + i, lower + i);
  }
  template <typename Lanes>
  HWY_INLINE void put(Lanes lanes, size_t i, V value, const uint32_t*) const {
    store_split(lanes, value, upper + i, lower + i);
  }
  SplitWeights from(int64_t begin) const { return {upper + begin, lower + begin}; }
  void copy_to(const SplitWeights& target, size_t count) const {
    std::memcpy(target.upper, upper, count * sizeof(bf16));
    std::memcpy(target.lower, lower, count * sizeof(uint16_t));
  }
};

struct DitheredWeights {
  static constexpr bool kIsDithered = true;
  bf16* weight;
  template <typename Lanes>
  HWY_INLINE V get(Lanes lanes, size_t i) const {
    return load(lanes, weight + i);
  }
  template <typename Lanes>
  HWY_INLINE void put(Lanes lanes, size_t i, V value, const uint32_t* bits) const {
    store_dithered(lanes, value, hn::LoadU(DU32(), bits + i), weight + i);
  }
  DitheredWeights from(int64_t begin) const { return {weight + begin}; }
  void copy_to(const DitheredWeights& target, size_t count) const {
    std::memcpy(target.weight, weight, count * sizeof(bf16));
  }
};

}  // namespace owlet::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
