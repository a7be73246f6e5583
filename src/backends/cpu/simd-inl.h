// What the CPU kernels share per instruction set: vectors of f32 loaded from and stored to f32 or bf16 memory, tails
// shorter than a vector, and reductions whose order depends on the vector length only.
//
// Included once per instruction set, after hwy/foreach_target.h; add.cpp is the smallest example of the pattern.
//
//   for_each_vector(count, [&](size_t i, auto lanes) HWY_ATTR {      // HWY_ATTR: clang needs it on every lambda here
//     const V sum = hn::Add(load(lanes, a + i), load(lanes, b + i));  // lanes: Whole, or Part at the end
//     store(lanes, sum, y + i);
//   });
//
// Not here: exponentials (math-inl.h) and threads. A per-instruction-set function works on a range on one thread;
// parallel_for stays outside, in the part of the file that is compiled once.

#if defined(OWLET_BACKENDS_CPU_SIMD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef OWLET_BACKENDS_CPU_SIMD_INL_H_
#undef OWLET_BACKENDS_CPU_SIMD_INL_H_
#else
#define OWLET_BACKENDS_CPU_SIMD_INL_H_
#endif

#include <cstddef>
#include <cstdint>
#include <limits>

#include "backends/cpu/streaming.hpp"
#include "hwy/cache_control.h"
#include "hwy/highway.h"
#include "ops/cost.hpp"
#include "tensor/dtype.hpp"

HWY_BEFORE_NAMESPACE();
namespace owlet::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using DF = hn::ScalableTag<float>;
using DU32 = hn::RebindToUnsigned<DF>;
using DI32 = hn::RebindToSigned<DF>;
using DU16 = hn::Rebind<uint16_t, DF>;
using DI16 = hn::Rebind<int16_t, DF>;
using V = hn::Vec<DF>;

HWY_INLINE size_t num_lanes() { return hn::Lanes(DF()); }
HWY_INLINE V zero() { return hn::Zero(DF()); }
HWY_INLINE V set(float value) { return hn::Set(DF(), value); }

/// A full vector.
struct Whole {};
/// A full vector whose stores go past the caches: for results so large that they would only push other things out, and
/// that are aligned as vectors are. An ordinary store reads the line from memory before it writes.
struct Streamed {};
/// The first `num` lanes of a vector, 0 < num < num_lanes(); memory behind them is neither read nor written.
struct Part {
  size_t num;
};

HWY_INLINE V load(Whole, const float* source) { return hn::LoadU(DF(), source); }

HWY_INLINE V load(Whole, const bf16* source) {
  const auto halves = hn::LoadU(DU16(), reinterpret_cast<const uint16_t*>(source));
  return hn::BitCast(DF(), hn::ShiftLeft<16>(hn::PromoteTo(DU32(), halves)));
}

template <typename T>
HWY_INLINE V load(Streamed, const T* source) {
  return load(Whole{}, source);
}

// AVX-512 leaves masked lanes of memory alone. Elsewhere Highway may read a whole vector and then clear lanes, which
// can touch a page that is not ours: there parts go through an array.
#if HWY_TARGET <= HWY_AVX3 && HWY_ARCH_X86
#define OWLET_HAS_MASKED_MEMORY 1
#else
#define OWLET_HAS_MASKED_MEMORY 0
#endif

/// Lanes beyond the part are zero.
template <typename T>
HWY_INLINE V load(Part part, const T* source) {
#if OWLET_HAS_MASKED_MEMORY
  if constexpr (sizeof(T) == sizeof(float)) {
    return hn::MaskedLoad(hn::FirstN(DF(), part.num), DF(), source);
  } else {
    const auto halves = hn::MaskedLoad(hn::FirstN(DU16(), part.num), DU16(), reinterpret_cast<const uint16_t*>(source));
    return hn::BitCast(DF(), hn::ShiftLeft<16>(hn::PromoteTo(DU32(), halves)));
  }
#else
  HWY_ALIGN T lanes[HWY_MAX_BYTES / sizeof(float)] = {};
  for (size_t i = 0; i < part.num; ++i) lanes[i] = source[i];
  return load(Whole{}, lanes);
#endif
}

HWY_INLINE void store(Whole, V value, float* target) { hn::StoreU(value, DF(), target); }

#if HWY_TARGET == HWY_AVX3
/// The upper halves of the result are the value rounded to bf16. Masks add 1 where the last kept bit is set, and
/// quieten.
HWY_INLINE __m512i round_upper_halves(V value) {
  const __m512i bits = _mm512_castps_si512(value.raw);
  const __mmask16 is_odd = _mm512_test_epi32_mask(bits, _mm512_set1_epi32(0x00010000));
  const __mmask16 is_nan = _mm512_cmp_ps_mask(value.raw, value.raw, _CMP_UNORD_Q);
  __m512i words = _mm512_add_epi32(bits, _mm512_set1_epi32(0x7fff));
  words = _mm512_mask_add_epi32(words, is_odd, words, _mm512_set1_epi32(1));
  return _mm512_mask_or_epi32(words, is_nan, bits, _mm512_set1_epi32(0x00400000));
}
#endif

/// Rounds exactly as the constructor of bf16 does: to nearest, ties to even, NaN stays a quiet NaN.
HWY_INLINE hn::Vec<DU16> round_to_bf16(V value) {
#if HWY_TARGET == HWY_AVX3
  return hn::Vec<DU16>{_mm512_cvtepi32_epi16(_mm512_srli_epi32(round_upper_halves(value), 16))};
#else
  const DU32 du;
  const auto bits = hn::BitCast(du, value);
  const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(du, 1u));
  const auto rounded = hn::Add(bits, hn::Add(odd, hn::Set(du, 0x7fffu)));
  const auto quiet = hn::Or(bits, hn::Set(du, 0x00400000u));
  const auto words = hn::IfThenElse(hn::RebindMask(du, hn::IsNaN(value)), quiet, rounded);
  // The arithmetic shift leaves numbers that fit 16 signed bits, so that the saturating narrowing changes none.
  const auto halves = hn::DemoteTo(DI16(), hn::ShiftRight<16>(hn::BitCast(DI32(), words)));
  return hn::BitCast(DU16(), halves);
#endif
}

HWY_INLINE void store(Whole, V value, bf16* target) {
  hn::StoreU(round_to_bf16(value), DU16(), reinterpret_cast<uint16_t*>(target));
}

template <typename T>
HWY_INLINE void store(Part part, V value, T* target) {
#if OWLET_HAS_MASKED_MEMORY
  if constexpr (sizeof(T) == sizeof(float)) {
    hn::BlendedStore(value, hn::FirstN(DF(), part.num), DF(), target);
  } else {
    hn::BlendedStore(round_to_bf16(value), hn::FirstN(DU16(), part.num), DU16(), reinterpret_cast<uint16_t*>(target));
  }
#else
  HWY_ALIGN T lanes[HWY_MAX_BYTES / sizeof(float)];
  store(Whole{}, value, lanes);
  for (size_t i = 0; i < part.num; ++i) target[i] = lanes[i];
#endif
}

HWY_INLINE void store(Streamed, V value, float* target) { hn::Stream(value, DF(), target); }

HWY_INLINE void store(Streamed, V value, bf16* target) {
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2
  hn::Stream(round_to_bf16(value), DU16(), reinterpret_cast<uint16_t*>(target));
#else
  store(Whole{}, value, target);  // half a vector: Highway would write a whole one
#endif
}

/// Where a kernel leaves a gradient, from some element on: f32 or bf16, overwriting or adding. The branches are the
/// same for all vectors of a loop, so they cost next to nothing, and kernels need no instantiation per kind of slot.
struct GradientTarget {
  float* wide = nullptr;
  bf16* narrow = nullptr;
  bool accumulate = false;

  GradientTarget(const GradientSlot& slot, int64_t first_element) : accumulate(slot.accumulate) {
    if (!slot.is_wanted()) return;
    if (slot.tensor.dtype() == DType::bf16) {
      narrow = slot.tensor.data<bf16>() + first_element;
    } else {
      wide = slot.tensor.data<float>() + first_element;
    }
  }
  bool is_wanted() const { return wide != nullptr || narrow != nullptr; }
};

/// Streamed only where kernels overwrite: a slot that is added to is read line by line anyway.
template <typename Lanes>
HWY_INLINE void store_gradient(Lanes lanes, V value, const GradientTarget& target, size_t i) {
  if (target.wide != nullptr) {
    if (target.accumulate) value = hn::Add(value, load(lanes, target.wide + i));
    store(lanes, value, target.wide + i);
  } else if (target.narrow != nullptr) {
    if (target.accumulate) value = hn::Add(value, load(lanes, target.narrow + i));
    store(lanes, value, target.narrow + i);
  }
}

/// The value with zeros (or `otherwise`) in the lanes beyond the part.
HWY_INLINE V keep(Whole, V value) { return value; }
HWY_INLINE V keep(Streamed, V value) { return value; }
HWY_INLINE V keep(Part part, V value) { return hn::IfThenElseZero(hn::FirstN(DF(), part.num), value); }
HWY_INLINE V keep_or(Whole, V value, V) { return value; }
HWY_INLINE V keep_or(Part part, V value, V otherwise) {
  return hn::IfThenElse(hn::FirstN(DF(), part.num), value, otherwise);
}

/// Calls body(i, Whole{}) for every full vector of [0, count), then body(i, Part{rest}) if some elements remain.
template <typename Body>
HWY_INLINE void for_each_vector(size_t count, const Body& body) {
  const size_t step = num_lanes();
  size_t i = 0;
  for (; i + step <= count; i += step) body(i, Whole{});
  if (i < count) body(i, Part{count - i});
}

/// for_each_vector with Streamed for Whole where `streams`. The caller ends with hwy::FlushStream(), so that other
/// threads may read at once.
template <typename Body>
HWY_INLINE void sweep_vectors(size_t count, bool streams, const Body& body) {
  if (!streams) return for_each_vector(count, body);
  const size_t step = num_lanes();
  size_t i = 0;
  for (; i + step <= count; i += step) body(i, Streamed{});
  if (i < count) body(i, Part{count - i});
}

/// The same for a whole range: flushes itself.
template <typename Body>
HWY_INLINE void for_each_vector(size_t count, bool streams, const Body& body) {
  sweep_vectors(count, streams, body);
  if (streams) hwy::FlushStream();
}

#if HWY_TARGET == HWY_AVX3
/// Two vectors rounded to bf16, one behind the other.
template <bool kHasInstruction>
HWY_INLINE __m512i round_two(V first, V second) {
  __m512i halves;
  if constexpr (kHasInstruction) {  // in assembler: this file is compiled for AVX-512 without that extension
    asm("vcvtne2ps2bf16 %1, %2, %0" : "=v"(halves) : "v"(first.raw), "v"(second.raw));
  } else {
    alignas(64) static constexpr uint16_t kUpperHalves[32] = {1,  3,  5,  7,  9,  11, 13, 15, 17, 19, 21,
                                                              23, 25, 27, 29, 31, 33, 35, 37, 39, 41, 43,
                                                              45, 47, 49, 51, 53, 55, 57, 59, 61, 63};
    halves = _mm512_permutex2var_epi16(round_upper_halves(first), _mm512_load_si512(kUpperHalves),
                                       round_upper_halves(second));
  }
  return halves;
}

template <bool kStreams, bool kHasInstruction>
HWY_INLINE void store_two(V first, V second, bf16* target) {
  const __m512i halves = round_two<kHasInstruction>(first, second);
  if constexpr (kStreams) {
    _mm512_stream_si512(reinterpret_cast<__m512i*>(target), halves);
  } else {
    _mm512_storeu_si512(target, halves);
  }
}

/// Calls two(i, store) for every two full vectors from element i on; returns the element behind them. store(first,
/// second, target) rounds and stores both.
template <bool kStreams, bool kHasInstruction, typename Two>
HWY_INLINE size_t for_each_two(size_t count, const Two& two) {
  size_t i = 0;
  for (; i + 32 <= count; i += 32) {
    two(i,
        [](V first, V second, bf16* target) HWY_ATTR { store_two<kStreams, kHasInstruction>(first, second, target); });
  }
  return i;
}

template <typename Two>
HWY_INLINE size_t for_each_two(size_t count, StoreMode mode, const Two& two) {
  if (mode.has_bf16_instruction) {
    return mode.streams ? for_each_two<true, true>(count, two) : for_each_two<false, true>(count, two);
  }
  return mode.streams ? for_each_two<true, false>(count, two) : for_each_two<false, false>(count, two);
}
#endif

/// target[i] = value(i, lanes) for one row. After its last row, the caller ends with flush(mode).
template <typename Value>
HWY_INLINE void put_row(size_t count, StoreMode mode, float* target, const Value& value) {
  sweep_vectors(count, mode.streams, [&](size_t i, auto lanes) HWY_ATTR { store(lanes, value(i, lanes), target + i); });
}
template <typename Value>
HWY_INLINE void put_row(size_t count, StoreMode mode, bf16* target, const Value& value) {
#if HWY_TARGET == HWY_AVX3
  size_t done = for_each_two(count, mode, [&](size_t i, const auto& store) HWY_ATTR {
    const V first = value(i, Whole{});
    store(first, value(i + 16, Whole{}), target + i);
  });
  for (; done < count; done += 16) {
    const Part rest{count - done < 16 ? count - done : 16};
    store(rest, value(done, rest), target + done);
  }
#else
  sweep_vectors(count, mode.streams, [&](size_t i, auto lanes) HWY_ATTR { store(lanes, value(i, lanes), target + i); });
#endif
}
/// The same for a gradient.
template <typename Value>
HWY_INLINE void put_row(size_t count, StoreMode mode, const GradientTarget& target, const Value& value) {
  if (target.narrow != nullptr && !target.accumulate) return put_row(count, mode, target.narrow, value);
  sweep_vectors(count, mode.streams,
                [&](size_t i, auto lanes) HWY_ATTR { store_gradient(lanes, value(i, lanes), target, i); });
}

/// Lets other threads read what has been streamed.
HWY_INLINE void flush(StoreMode mode) {
  if (mode.streams) hwy::FlushStream();
}

/// put_row for a whole range.
template <typename Target, typename Value>
HWY_INLINE void put_each(size_t count, StoreMode mode, const Target& target, const Value& value) {
  put_row(count, mode, target, value);
  flush(mode);
}

/// Two results of one pass over a range: values(i, lanes, a, b) computes what goes into both targets.
template <typename Values>
HWY_INLINE void put_both(size_t count, StoreMode mode, const GradientTarget& a_target, const GradientTarget& b_target,
                         const Values& values) {
  size_t done = 0;
#if HWY_TARGET == HWY_AVX3
  const auto is_plain = [](const GradientTarget& target) { return target.narrow != nullptr && !target.accumulate; };
  if (is_plain(a_target) && is_plain(b_target)) {
    done = for_each_two(count, mode, [&](size_t i, const auto& store) HWY_ATTR {
      V a0, b0, a1, b1;
      values(i, Whole{}, a0, b0);
      values(i + 16, Whole{}, a1, b1);
      store(a0, a1, a_target.narrow + i);
      store(b0, b1, b_target.narrow + i);
    });
  }
#endif
  const auto one = [&](size_t i, auto lanes) HWY_ATTR {
    V a, b;
    values(done + i, lanes, a, b);
    store_gradient(lanes, a, a_target, done + i);
    store_gradient(lanes, b, b_target, done + i);
  };
  sweep_vectors(count - done, mode.streams && done == 0, one);
  flush(mode);
}

HWY_INLINE float sum_of_lanes(V value) { return hn::GetLane(hn::SumOfLanes(DF(), value)); }
HWY_INLINE float max_of_lanes(V value) { return hn::GetLane(hn::MaxOfLanes(DF(), value)); }

/// Sum of term(i, lanes) over the vectors of [0, count): four running sums, so that additions do not wait for each
/// other. The order depends on count and the vector length only.
template <typename Term>
HWY_INLINE float sum_over(size_t count, const Term& term) {
  const size_t step = num_lanes();
  V sum0 = zero(), sum1 = zero(), sum2 = zero(), sum3 = zero();
  size_t i = 0;
  for (; i + 4 * step <= count; i += 4 * step) {
    sum0 = hn::Add(sum0, term(i, Whole{}));
    sum1 = hn::Add(sum1, term(i + step, Whole{}));
    sum2 = hn::Add(sum2, term(i + 2 * step, Whole{}));
    sum3 = hn::Add(sum3, term(i + 3 * step, Whole{}));
  }
  for (; i + step <= count; i += step) sum0 = hn::Add(sum0, term(i, Whole{}));
  if (i < count) {
    const Part rest{count - i};
    sum1 = hn::Add(sum1, keep(rest, term(i, rest)));
  }
  return sum_of_lanes(hn::Add(hn::Add(sum0, sum1), hn::Add(sum2, sum3)));
}

/// Largest of values[0, count), -infinity for none. A NaN may or may not win: callers whose result would hide a NaN
/// must look for it themselves.
template <typename T>
HWY_INLINE float max_over(size_t count, const T* values) {
  const V lowest = set(-std::numeric_limits<float>::infinity());
  V max0 = lowest, max1 = lowest;
  const size_t step = num_lanes();
  size_t i = 0;
  for (; i + 2 * step <= count; i += 2 * step) {
    max0 = hn::Max(max0, load(Whole{}, values + i));
    max1 = hn::Max(max1, load(Whole{}, values + i + step));
  }
  for (; i + step <= count; i += step) max0 = hn::Max(max0, load(Whole{}, values + i));
  if (i < count) {
    const Part rest{count - i};
    max1 = hn::Max(max1, keep_or(rest, load(rest, values + i), lowest));
  }
  return max_of_lanes(hn::Max(max0, max1));
}

}  // namespace owlet::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#undef OWLET_HAS_MASKED_MEMORY

#endif
