// AdamW with moments of eight bits on the CPU: one pass over memory, block by block of 256 elements.
#include <cstring>

#include "backends/cpu/kernels.hpp"
#include "backends/cpu/simd_targets.hpp"
#include "base/parallel_for.hpp"
#include "tensor/formats/moment_codes.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/adamw8bit.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
//
#include "backends/cpu/adamw-inl.h"

HWY_BEFORE_NAMESPACE();
namespace owlet::cpu::HWY_NAMESPACE {

using formats::FirstMomentCode;
using formats::kMomentBlock;
using formats::SecondMomentCode;
using VI32 = hn::Vec<DI32>;
using VU32 = hn::Vec<DU32>;

inline constexpr size_t kBlock = static_cast<size_t>(kMomentBlock);

#if HWY_TARGET == HWY_AVX3

// A code is the upper end of a half-precision number, subnormal ones included: the processor converts it.

HWY_INLINE V load_first_moments(const int8_t* codes, V unit) {
  const __m256i code = _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(codes)));
  const __m256i magnitude = _mm256_slli_epi16(_mm256_abs_epi16(code), 10 - FirstMomentCode::kMantissaBits);
  const __m256i sign = _mm256_and_si256(code, _mm256_set1_epi16(static_cast<int16_t>(0x8000)));
  return hn::Mul(V{_mm512_cvtph_ps(_mm256_or_si256(magnitude, sign))}, unit);
}

HWY_INLINE V load_second_moments(const uint8_t* codes, V unit) {
  const __m256i code = _mm256_cvtepu8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(codes)));
  return hn::Mul(V{_mm512_cvtph_ps(_mm256_slli_epi16(code, 10 - SecondMomentCode::kMantissaBits))}, unit);
}

/// MomentCode::encode. `dither` holds 16 random bits right below the code's lowest, and zeros elsewhere but for half of
/// the last of them; a number below the normal ones is encoded with 2^-14 added, so that its steps are theirs.
template <typename Code>
HWY_INLINE __m512i encode(__m512 magnitude, __m512i dither) {
  constexpr int kShift = 23 - Code::kMantissaBits;
  const __m512 least_normal = _mm512_set1_ps(0x1p-14f);
  const __mmask16 is_subnormal = _mm512_cmp_ps_mask(magnitude, least_normal, _CMP_LT_OQ);
  const __m512 normal = _mm512_mask_add_ps(magnitude, is_subnormal, magnitude, least_normal);
  const __m512i code = _mm512_srli_epi32(_mm512_add_epi32(_mm512_castps_si512(normal), dither), kShift);
  const __m512i whole = _mm512_mask_sub_epi32(code, is_subnormal, code, _mm512_set1_epi32(1 << Code::kMantissaBits));
  return _mm512_min_epu32(whole, _mm512_set1_epi32(Code::kLargestCode));
}

/// (bits & mask) | half, and the difference of the exponents' biases, modulo 2^32, in the bits above the mask.
template <typename Code>
HWY_INLINE __m512i dither_from(__m512i bits) {
  constexpr int kShift = 23 - Code::kMantissaBits;
  constexpr uint32_t kMask = 0xffffu << (kShift - 16), kHalf = 1u << (kShift - 17);
  constexpr uint32_t kBias = 0u - (uint32_t{127 - 15} << 23);
  return _mm512_ternarylogic_epi32(bits, _mm512_set1_epi32(static_cast<int>(kMask)),
                                   _mm512_set1_epi32(static_cast<int>(kBias | kHalf)), 0xea);
}

/// Codes of both moments of a vector's elements. The lower halves of `words` are dither for m, the upper for s.
HWY_INLINE void store_moments(V m, V s, V m_inverse, V s_inverse, VU32 words, int8_t* m_codes, uint8_t* s_codes) {
  constexpr int kShiftM = 7 - FirstMomentCode::kMantissaBits, kShiftS = 9 + SecondMomentCode::kMantissaBits;
  const __m512 m_magnitude = _mm512_mul_ps(_mm512_abs_ps(m.raw), m_inverse.raw);
  const __m512i m_code =
      encode<FirstMomentCode>(m_magnitude, dither_from<FirstMomentCode>(_mm512_slli_epi32(words.raw, kShiftM)));
  const __mmask16 is_negative = _mm512_cmp_ps_mask(m.raw, _mm512_setzero_ps(), _CMP_LT_OQ);
  const __m512i signed_code = _mm512_mask_sub_epi32(m_code, is_negative, _mm512_setzero_si512(), m_code);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(m_codes), _mm512_cvtepi32_epi8(signed_code));
  const __m512i s_code = encode<SecondMomentCode>(_mm512_mul_ps(s.raw, s_inverse.raw),
                                                  dither_from<SecondMomentCode>(_mm512_srli_epi32(words.raw, kShiftS)));
  const __mmask16 is_positive = _mm512_cmp_ps_mask(s.raw, _mm512_setzero_ps(), _CMP_GT_OQ);
  const __m512i least = _mm512_mask_max_epu32(s_code, is_positive, s_code, _mm512_set1_epi32(1));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(s_codes), _mm512_cvtepi32_epi8(least));
}

#else

/// Magnitude of a code in [0, kLargestCode]: the code is the upper end of an f32 but for the bias of its exponent. A
/// subnormal one is read as the normal number of the same fraction, less the 1 before its point.
template <typename Code>
HWY_INLINE V decode(VI32 code) {
  constexpr int kShift = 23 - Code::kMantissaBits;
  const DI32 di;
  const auto is_subnormal = hn::Lt(code, hn::Set(di, 1 << Code::kMantissaBits));
  const auto normal = hn::Add(code, hn::IfThenElseZero(is_subnormal, hn::Set(di, 1 << Code::kMantissaBits)));
  const V value =
      hn::BitCast(DF(), hn::ShiftLeft<kShift>(hn::Add(normal, hn::Set(di, (127 - 15) << Code::kMantissaBits))));
  return hn::Sub(value, hn::IfThenElseZero(hn::RebindMask(DF(), is_subnormal), set(0x1p-14f)));
}

/// MomentCode::encode with a dither of 16 bits.
template <typename Code>
HWY_INLINE VI32 encode(V magnitude, VU32 bits16) {
  constexpr int kShift = 23 - Code::kMantissaBits;
  const DI32 di;
  const auto is_subnormal = hn::Lt(magnitude, set(0x1p-14f));
  const V normal = hn::Add(magnitude, hn::IfThenElseZero(is_subnormal, set(0x1p-14f)));
  const auto dither = hn::Add(hn::ShiftLeft<kShift - 16>(bits16), hn::Set(DU32(), 1u << (kShift - 17)));
  const auto word = hn::Add(hn::BitCast(DU32(), normal), dither);
  const auto code = hn::Sub(hn::ShiftRight<kShift>(word), hn::Set(DU32(), (127 - 15) << Code::kMantissaBits));
  const auto less =
      hn::IfThenElseZero(hn::RebindMask(DU32(), is_subnormal), hn::Set(DU32(), 1u << Code::kMantissaBits));
  return hn::BitCast(di, hn::Min(hn::Sub(code, less), hn::Set(DU32(), Code::kLargestCode)));
}

HWY_INLINE V load_first_moments(const int8_t* codes, V unit) {
  const DI32 di;
  const auto code = hn::PromoteTo(di, hn::LoadU(hn::Rebind<int8_t, DF>(), codes));
  const V magnitude = hn::Mul(decode<FirstMomentCode>(hn::Abs(code)), unit);
  return hn::Or(magnitude, hn::BitCast(DF(), hn::AndNot(hn::Set(di, 0x7fffffff), code)));
}

HWY_INLINE V load_second_moments(const uint8_t* codes, V unit) {
  return hn::Mul(decode<SecondMomentCode>(hn::PromoteTo(DI32(), hn::LoadU(hn::Rebind<uint8_t, DF>(), codes))), unit);
}

/// Codes of both moments of a vector's elements. The lower halves of `words` are dither for m, the upper for s.
HWY_INLINE void store_moments(V m, V s, V m_inverse, V s_inverse, VU32 words, int8_t* m_codes, uint8_t* s_codes) {
  const DI32 di;
  const DU32 du;
  const hn::Rebind<int8_t, DF> di8;
  const hn::Rebind<uint8_t, DF> du8;
  const auto m_code = encode<FirstMomentCode>(hn::Mul(hn::Abs(m), m_inverse), hn::And(words, hn::Set(du, 0xffffu)));
  const auto is_negative = hn::RebindMask(di, hn::Lt(m, zero()));
  hn::StoreU(hn::DemoteTo(di8, hn::IfThenElse(is_negative, hn::Neg(m_code), m_code)), di8, m_codes);
  const auto s_code = encode<SecondMomentCode>(hn::Mul(s, s_inverse), hn::ShiftRight<16>(words));
  const auto least = hn::IfThenElseZero(hn::RebindMask(di, hn::Gt(s, zero())), hn::Set(di, 1));
  hn::StoreU(hn::DemoteTo(du8, hn::Max(s_code, least)), du8, s_codes);
}

#endif

HWY_INLINE float inverse_scale(double largest, float scale) {
  return scale < formats::kLeastMomentScale ? 0.0f : static_cast<float>(largest) / scale;
}

/// Where the tensors of a whole block begin.
template <typename Weights>
struct BlockPointers {
  Weights weights;
  const float* gradient;
  int8_t* m;
  uint8_t* v;
  float *m_scale, *v_scale;
};

/// Random bits of a whole block; those of weights only where they are needed.
struct BlockBits {
  HWY_ALIGN uint32_t weight[kBlock];
  HWY_ALIGN uint32_t moments[kBlock];

  BlockBits(const op::AdamW8bit& op, const PhiloxKeys& keys, uint64_t block, bool has_weight) {
    for (size_t group = 0; group < kBlock / kBitsGroup; ++group) {
      const uint64_t number = block * (kBlock / kBitsGroup) + group;
      if (has_weight) {
        fill_element_bits(keys, op.stream, op.weight_draw(), number, weight + group * kBitsGroup);
      }
      fill_element_bits(keys, op.stream, op.moment_draw(), number, moments + group * kBitsGroup);
    }
  }
};

/// New moments of a whole block before they become codes: m and the root of v.
struct BlockMoments {
  HWY_ALIGN float m[kBlock];
  HWY_ALIGN float root[kBlock];
};

/// New moments into `moments`, their largest magnitudes into the scales, new weights into place.
template <typename Weights>
HWY_INLINE void update_weights(const AdamWFactors& factors, const BlockPointers<Weights>& at, const BlockBits& bits,
                               BlockMoments& moments) {
  const DI32 di;
  const V m_unit = set(*at.m_scale / static_cast<float>(FirstMomentCode::largest()));
  const V s_unit = set(*at.v_scale / static_cast<float>(SecondMomentCode::largest()));
  // As integers, magnitudes keep their order, with infinity above numbers and NaN above infinity.
  auto largest_m = hn::Zero(di), largest_s = hn::Zero(di);
  const auto no_sign = hn::Set(di, 0x7fffffff);
  for (size_t i = 0; i < kBlock; i += num_lanes()) {
    V m = load_first_moments(at.m + i, m_unit);
    const V s = load_second_moments(at.v + i, s_unit);
    V v = hn::Mul(s, s);
    adamw_moments(factors, load(Whole{}, at.gradient + i), m, v);
    const V root = hn::Sqrt(v), corrected = hn::Mul(root, set(factors.inverse_root_correction2));
    const V weight = adamw_weight(factors, at.weights.get(Whole{}, i), m, corrected);
    largest_m = hn::Max(largest_m, hn::And(hn::BitCast(di, m), no_sign));
    largest_s = hn::Max(largest_s, hn::And(hn::BitCast(di, root), no_sign));
    hn::Store(m, DF(), moments.m + i);
    hn::Store(root, DF(), moments.root + i);
    at.weights.put(Whole{}, i, weight, bits.weight);
  }
  *at.m_scale = hn::GetLane(hn::BitCast(DF(), hn::MaxOfLanes(di, largest_m)));
  *at.v_scale = hn::GetLane(hn::BitCast(DF(), hn::MaxOfLanes(di, largest_s)));
}

template <typename Weights>
HWY_INLINE void encode_moments(const BlockPointers<Weights>& at, const BlockBits& bits, const BlockMoments& moments) {
  const V m_inverse = set(inverse_scale(FirstMomentCode::largest(), *at.m_scale));
  const V s_inverse = set(inverse_scale(SecondMomentCode::largest(), *at.v_scale));
  for (size_t i = 0; i < kBlock; i += num_lanes()) {
    store_moments(hn::Load(DF(), moments.m + i), hn::Load(DF(), moments.root + i), m_inverse, s_inverse,
                  hn::Load(DU32(), bits.moments + i), at.m + i, at.v + i);
  }
}

template <typename Weights>
HWY_INLINE void update_block(const op::AdamW8bit& op, const AdamWFactors& factors, const PhiloxKeys& keys,
                             uint64_t block, const BlockPointers<Weights>& at) {
  const BlockBits bits(op, keys, block, Weights::kIsDithered);
  BlockMoments moments;
  update_weights(factors, at, bits, moments);
  encode_moments(at, bits, moments);
}

/// A block at the end that is shorter: the same on a padded copy, whose weights are `padded`.
template <typename Weights>
void update_short_block(const op::AdamW8bit& op, const AdamWFactors& factors, const PhiloxKeys& keys, uint64_t block,
                        size_t count, const BlockPointers<Weights>& at, const Weights& padded) {
  float gradient[kBlock] = {};
  int8_t m[kBlock] = {};
  uint8_t v[kBlock] = {};
  at.weights.copy_to(padded, count);
  std::memcpy(gradient, at.gradient, count * sizeof(float));
  std::memcpy(m, at.m, count);
  std::memcpy(v, at.v, count);
  update_block<Weights>(op, factors, keys, block, {padded, gradient, m, v, at.m_scale, at.v_scale});
  padded.copy_to(at.weights, count);
  std::memcpy(at.m, m, count);
  std::memcpy(at.v, v, count);
}

/// Elements [begin, end); `begin` is a multiple of kMomentBlock. `padded`: room for the weights of a block, zeros.
template <typename Weights>
void update_range(const op::AdamW8bit& op, const AdamWFactors& factors, int64_t begin, int64_t end,
                  const Weights& weights, const Weights& padded) {
  const PhiloxKeys keys(op.seed);
  for (int64_t i = begin; i < end; i += kMomentBlock) {
    const int64_t block = i / kMomentBlock;
    const BlockPointers<Weights> at{
        weights.from(i),          op.gradient.data<float>() + i,    op.m.data<int8_t>() + i,
        op.v.data<uint8_t>() + i, op.m_scale.data<float>() + block, op.v_scale.data<float>() + block};
    if (end - i >= kMomentBlock) {
      update_block(op, factors, keys, static_cast<uint64_t>(block), at);
    } else {
      update_short_block(op, factors, keys, static_cast<uint64_t>(block), static_cast<size_t>(end - i), at, padded);
    }
  }
}

void adamw8bit_range(const op::AdamW8bit& op, const AdamWFactors& factors, int64_t begin, int64_t end) {
  if (op.lower_bits.defined()) {
    bf16 upper[kBlock] = {};
    uint16_t lower[kBlock] = {};
    const SplitWeights weights{op.weight.data<bf16>(), op.lower_bits.data<uint16_t>()};
    update_range(op, factors, begin, end, weights, SplitWeights{upper, lower});
  } else if (op.weight.dtype() == DType::bf16) {
    bf16 padded[kBlock] = {};
    update_range(op, factors, begin, end, DitheredWeights{op.weight.data<bf16>()}, DitheredWeights{padded});
  } else {
    float padded[kBlock] = {};
    update_range(op, factors, begin, end, WholeWeights{op.weight.data<float>()}, WholeWeights{padded});
  }
}

}  // namespace owlet::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace owlet::cpu {

HWY_EXPORT(adamw8bit_range);
static_assert(kElementsPerRange % formats::kMomentBlock == 0);

void run(const op::AdamW8bit& op, KernelContext&) {
  const AdamWFactors factors(op);
  parallel_sweep(op.weight.num_elements(), kElementsPerRange, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(adamw8bit_range)(op, factors, begin, end);
  });
}

}  // namespace owlet::cpu
#endif
