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

/// The keys of Philox's ten rounds.
struct PhiloxKeys {
  static constexpr int kRounds = 10;
  uint32_t first[kRounds], second[kRounds];

  explicit PhiloxKeys(uint64_t key) {
    for (uint32_t round = 0; round < kRounds; ++round) {
      first[round] = static_cast<uint32_t>(key) + round * 0x9E3779B9u;
      second[round] = static_cast<uint32_t>(key >> 32) + round * 0xBB67AE85u;
    }
  }
};

/// Philox4x32-10 of the blocks whose words stand in the even lanes; the odd lanes end up with anything. A 64-bit
/// product in place of a word leaves its lower half where the next round looks for it.
HWY_INLINE void philox_even_lanes(const PhiloxKeys& keys, VBits& word0, VBits& word1, VBits& word2, VBits& word3) {
  const DBits du;
  const auto multiplier0 = hn::Set(du, 0xD2511F53u), multiplier1 = hn::Set(du, 0xCD9E8D57u);
  for (int round = 0; round < PhiloxKeys::kRounds; ++round) {
    const auto product0 = hn::MulEven(word0, multiplier0), product1 = hn::MulEven(word2, multiplier1);
    word0 = hn::Xor3(hn::BitCast(du, hn::ShiftRight<32>(product1)), word1, hn::Set(du, keys.first[round]));
    word1 = hn::BitCast(du, product1);
    word2 = hn::Xor3(hn::BitCast(du, hn::ShiftRight<32>(product0)), word3, hn::Set(du, keys.second[round]));
    word3 = hn::BitCast(du, product0);
  }
}

/// Philox4x32-10, one block per lane: counters in, random words out. See base/random.cpp for the constants.
HWY_INLINE void philox_rounds(const PhiloxKeys& keys, VBits& word0, VBits& word1, VBits& word2, VBits& word3) {
  const DBits du;
  const hn::Repartition<uint64_t, DBits> du64;
  const auto odd_lanes = [&](VBits words)
                             HWY_ATTR { return hn::BitCast(du, hn::ShiftRight<32>(hn::BitCast(du64, words))); };
  const auto merged = [&](VBits odd, VBits even) HWY_ATTR {
    return hn::OddEven(hn::BitCast(du, hn::ShiftLeft<32>(hn::BitCast(du64, odd))), even);
  };
  VBits odd0 = odd_lanes(word0), odd1 = odd_lanes(word1), odd2 = odd_lanes(word2), odd3 = odd_lanes(word3);
  philox_even_lanes(keys, word0, word1, word2, word3);
  philox_even_lanes(keys, odd0, odd1, odd2, odd3);
  word0 = merged(odd0, word0);
  word1 = merged(odd1, word1);
  word2 = merged(odd2, word2);
  word3 = merged(odd3, word3);
}

/// element_bits of elements [64 group, 64 group + 64); `bits` is aligned as vectors are.
HWY_INLINE void fill_element_bits(const PhiloxKeys& keys, uint64_t stream, uint32_t draw, uint64_t group,
                                  uint32_t* bits) {
  const DBits du;
  for (size_t lane = 0; lane < 16; lane += hn::Lanes(du)) {
    auto word0 = hn::Iota(du, static_cast<uint32_t>(group * 16 + lane)), word1 = hn::Set(du, draw);
    // Blocks beyond 2^32 would reach into the draw's word: element_bits allows none.
    auto word2 = hn::Set(du, static_cast<uint32_t>(stream)), word3 = hn::Set(du, static_cast<uint32_t>(stream >> 32));
    philox_rounds(keys, word0, word1, word2, word3);
    hn::Store(word0, du, bits + lane);
    hn::Store(word1, du, bits + lane + 16);
    hn::Store(word2, du, bits + lane + 32);
    hn::Store(word3, du, bits + lane + 48);
  }
}

#else

struct PhiloxKeys {
  uint64_t seed;
  explicit PhiloxKeys(uint64_t key) : seed(key) {}
};

HWY_INLINE void fill_element_bits(const PhiloxKeys& keys, uint64_t stream, uint32_t draw, uint64_t group,
                                  uint32_t* bits) {
  for (uint64_t i = 0; i < kBitsGroup; ++i) bits[i] = element_bits(keys.seed, stream, draw, group * kBitsGroup + i);
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
