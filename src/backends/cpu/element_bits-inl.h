// base/random.hpp's Philox numbers for many elements at once, per instruction set.

#if defined(OWLET_BACKENDS_CPU_ELEMENT_BITS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef OWLET_BACKENDS_CPU_ELEMENT_BITS_INL_H_
#undef OWLET_BACKENDS_CPU_ELEMENT_BITS_INL_H_
#else
#define OWLET_BACKENDS_CPU_ELEMENT_BITS_INL_H_
#endif

#include "backends/cpu/simd-inl.h"
#include "base/random.hpp"

HWY_BEFORE_NAMESPACE();
namespace owlet::cpu::HWY_NAMESPACE {

/// Elements that one call of fill_element_bits serves: 16 Philox blocks of four words.
inline constexpr size_t kBitsGroup = 64;

#if HWY_TARGET != HWY_SCALAR

using DBits = hn::CappedTag<uint32_t, 16>;
using VBits = hn::Vec<DBits>;

/// Upper and lower halves of the 64-bit products of all lanes.
HWY_INLINE void multiply_wide(VBits a, VBits b, VBits& high, VBits& low) {
  const DBits du;
  const hn::Repartition<uint64_t, DBits> du64;
  const auto even = hn::MulEven(a, b);
  const auto odd = hn::MulEven(hn::BitCast(du, hn::ShiftRight<32>(hn::BitCast(du64, a))), b);
  high = hn::OddEven(hn::BitCast(du, odd), hn::BitCast(du, hn::ShiftRight<32>(even)));
  low = hn::OddEven(hn::BitCast(du, hn::ShiftLeft<32>(odd)), hn::BitCast(du, even));
}

/// Philox4x32-10, one block per lane: counters in, random words out. See base/random.cpp for the constants.
HWY_INLINE void philox_rounds(uint64_t key, VBits& word0, VBits& word1, VBits& word2, VBits& word3) {
  const DBits du;
  const auto multiplier0 = hn::Set(du, 0xD2511F53u), multiplier1 = hn::Set(du, 0xCD9E8D57u);
  uint32_t key0 = static_cast<uint32_t>(key), key1 = static_cast<uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    VBits high0, low0, high1, low1;
    multiply_wide(word0, multiplier0, high0, low0);
    multiply_wide(word2, multiplier1, high1, low1);
    word0 = hn::Xor(hn::Xor(high1, word1), hn::Set(du, key0));
    word1 = low1;
    word2 = hn::Xor(hn::Xor(high0, word3), hn::Set(du, key1));
    word3 = low0;
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
}

/// element_bits of elements [64 group, 64 group + 64); `bits` is aligned as vectors are.
HWY_INLINE void fill_element_bits(uint64_t seed, uint64_t stream, uint32_t draw, uint64_t group, uint32_t* bits) {
  const DBits du;
  for (size_t lane = 0; lane < 16; lane += hn::Lanes(du)) {
    auto word0 = hn::Iota(du, static_cast<uint32_t>(group * 16 + lane)), word1 = hn::Set(du, draw);
    // Blocks beyond 2^32 would reach into the draw's word: element_bits allows none.
    auto word2 = hn::Set(du, static_cast<uint32_t>(stream)), word3 = hn::Set(du, static_cast<uint32_t>(stream >> 32));
    philox_rounds(seed, word0, word1, word2, word3);
    hn::Store(word0, du, bits + lane);
    hn::Store(word1, du, bits + lane + 16);
    hn::Store(word2, du, bits + lane + 32);
    hn::Store(word3, du, bits + lane + 48);
  }
}

#else

HWY_INLINE void fill_element_bits(uint64_t seed, uint64_t stream, uint32_t draw, uint64_t group, uint32_t* bits) {
  for (uint64_t i = 0; i < kBitsGroup; ++i) bits[i] = element_bits(seed, stream, draw, group * kBitsGroup + i);
}

#endif

/// f32 to bf16, up or down at random in proportion: adds the lower halves of `bits` to what rounding cuts off. NaN
/// stays a quiet NaN, infinities stay.
HWY_INLINE void store_dithered(Whole, V value, hn::Vec<DU32> bits, bf16* target) {
  const DU32 du;
  const auto word = hn::BitCast(du, value);
  const auto rounded = hn::Add(word, hn::And(bits, hn::Set(du, 0xffffu)));
  const auto quiet = hn::Or(word, hn::Set(du, 0x00400000u));
  const auto chosen = hn::IfThenElse(hn::RebindMask(du, hn::IsNaN(value)), quiet, rounded);
  const auto halves = hn::DemoteTo(DI16(), hn::ShiftRight<16>(hn::BitCast(DI32(), chosen)));
  hn::StoreU(hn::BitCast(DU16(), halves), DU16(), reinterpret_cast<uint16_t*>(target));
}
HWY_INLINE void store_dithered(Part part, V value, hn::Vec<DU32> bits, bf16* target) {
  HWY_ALIGN bf16 lanes[HWY_MAX_BYTES / sizeof(float)];
  store_dithered(Whole{}, value, bits, lanes);
  for (size_t i = 0; i < part.num; ++i) target[i] = lanes[i];
}

}  // namespace owlet::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
