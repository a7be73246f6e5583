// f32 weights in two halves (tensor/formats/split_weight.hpp) on vectors, per instruction set.

#if defined(OWLET_BACKENDS_CPU_SPLIT_WEIGHT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef OWLET_BACKENDS_CPU_SPLIT_WEIGHT_INL_H_
#undef OWLET_BACKENDS_CPU_SPLIT_WEIGHT_INL_H_
#else
#define OWLET_BACKENDS_CPU_SPLIT_WEIGHT_INL_H_
#endif

#include "backends/cpu/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace owlet::cpu::HWY_NAMESPACE {

/// join_weight of a vector's elements.
template <typename Lanes>
HWY_INLINE V load_joined(Lanes lanes, const bf16* upper, const uint16_t* lower) {
  const DI32 di;
  // As a bf16 number, the lower half comes in the upper half of its lane.
  const auto shifted = hn::BitCast(di, load(lanes, reinterpret_cast<const bf16*>(lower)));
  return hn::BitCast(DF(), hn::Add(hn::BitCast(di, load(lanes, upper)), hn::ShiftRight<16>(shifted)));
}

/// split_weight of a vector's elements.
HWY_INLINE void store_split(Whole, V value, bf16* upper, uint16_t* lower) {
  const DU32 du;
  const DI32 di;
  const DI16 d16;
  const auto word = hn::BitCast(du, value);
  const auto rounded = hn::Add(word, hn::Set(du, 0x8000u)), quiet = hn::Or(word, hn::Set(du, 0x00400000u));
  const auto chosen = hn::IfThenElse(hn::RebindMask(du, hn::IsNaN(value)), quiet, rounded);
  // Arithmetic shifts leave numbers that fit 16 signed bits, so that the saturating narrowing changes none.
  const auto upper_half = hn::DemoteTo(d16, hn::ShiftRight<16>(hn::BitCast(di, chosen)));
  const auto lower_half = hn::DemoteTo(d16, hn::ShiftRight<16>(hn::BitCast(di, hn::ShiftLeft<16>(word))));
  hn::StoreU(hn::BitCast(DU16(), upper_half), DU16(), reinterpret_cast<uint16_t*>(upper));
  hn::StoreU(hn::BitCast(DU16(), lower_half), DU16(), lower);
}
HWY_INLINE void store_split(Part part, V value, bf16* upper, uint16_t* lower) {
  HWY_ALIGN bf16 upper_lanes[HWY_MAX_BYTES / sizeof(float)];
  HWY_ALIGN uint16_t lower_lanes[HWY_MAX_BYTES / sizeof(float)] = {};
  store_split(Whole{}, value, upper_lanes, lower_lanes);
  for (size_t i = 0; i < part.num; ++i) {
    upper[i] = upper_lanes[i];
    lower[i] = lower_lanes[i];
  }
}

}  // namespace owlet::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
