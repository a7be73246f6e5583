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
#include "backends/cpu/element_bits-inl.h"

HWY_BEFORE_NAMESPACE();
namespace owlet::cpu::HWY_NAMESPACE {

using formats::FirstMomentCode;
using formats::kMomentBlock;
using formats::SecondMomentCode;
using VI32 = hn::Vec<DI32>;
using VU32 = hn::Vec<DU32>;

inline constexpr size_t kBlock = static_cast<size_t>(kMomentBlock);

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
  const auto word = hn::BitCast(di, hn::Add(hn::BitCast(DU32(), normal), dither));
  const auto code = hn::Sub(hn::ShiftRight<kShift>(word), hn::Set(di, (127 - 15) << Code::kMantissaBits));
  const auto less = hn::IfThenElseZero(hn::RebindMask(di, is_subnormal), hn::Set(di, 1 << Code::kMantissaBits));
  return hn::Min(hn::Max(hn::Sub(code, less), hn::Zero(di)), hn::Set(di, Code::kLargestCode));
}

HWY_INLINE float inverse_scale(double largest, float scale) {
  return scale < formats::kLeastMomentScale ? 0.0f : static_cast<float>(largest) / scale;
}

/// Where the tensors of a whole block begin; `copy` may be null. Weights are float or bf16 (T).
template <typename T>
struct BlockPointers {
  T* weight;
  const float* gradient;
  int8_t* m;
  uint8_t* v;
  float *m_scale, *v_scale;
  bf16* copy;
};

/// Random bits of a whole block; those of weights only where they are needed.
struct BlockBits {
  HWY_ALIGN uint32_t weight[kBlock];
  HWY_ALIGN uint32_t moments[kBlock];

  BlockBits(const op::AdamW8bit& op, uint64_t block, bool has_weight) {
    for (size_t group = 0; group < kBlock / kBitsGroup; ++group) {
      const uint64_t number = block * (kBlock / kBitsGroup) + group;
      if (has_weight) {
        fill_element_bits(op.seed, op.stream, op.weight_draw(), number, weight + group * kBitsGroup);
      }
      fill_element_bits(op.seed, op.stream, op.moment_draw(), number, moments + group * kBitsGroup);
    }
  }
};

/// New moments of a whole block before they become codes: m and the root of v.
struct BlockMoments {
  HWY_ALIGN float m[kBlock];
  HWY_ALIGN float root[kBlock];
};

/// New moments into `moments`, their largest magnitudes into the scales, new weights into place.
template <typename T>
HWY_INLINE void update_weights(const AdamWFactors& factors, const BlockPointers<T>& at, const BlockBits& bits,
                               BlockMoments& moments) {
  const DI32 di;
  const hn::Rebind<int8_t, DF> di8;
  const hn::Rebind<uint8_t, DF> du8;
  const V m_unit = set(*at.m_scale / static_cast<float>(FirstMomentCode::largest()));
  const V s_unit = set(*at.v_scale / static_cast<float>(SecondMomentCode::largest()));
  // As integers, magnitudes keep their order, with infinity above numbers and NaN above infinity.
  auto largest_m = hn::Zero(di), largest_s = hn::Zero(di);
  const auto no_sign = hn::Set(di, 0x7fffffff);
  for (size_t i = 0; i < kBlock; i += num_lanes()) {
    const auto code = hn::PromoteTo(di, hn::LoadU(di8, at.m + i));
    const V magnitude = hn::Mul(decode<FirstMomentCode>(hn::Abs(code)), m_unit);
    V m = hn::Or(magnitude, hn::BitCast(DF(), hn::AndNot(no_sign, code)));
    const V s = hn::Mul(decode<SecondMomentCode>(hn::PromoteTo(di, hn::LoadU(du8, at.v + i))), s_unit);
    V v = hn::Mul(s, s);
    adamw_moments(factors, load(Whole{}, at.gradient + i), m, v);
    const V root = hn::Sqrt(v), corrected = hn::Mul(root, set(factors.inverse_root_correction2));
    const V weight = adamw_weight(factors, load(Whole{}, at.weight + i), m, corrected);
    largest_m = hn::Max(largest_m, hn::And(hn::BitCast(di, m), no_sign));
    largest_s = hn::Max(largest_s, hn::And(hn::BitCast(di, root), no_sign));
    hn::Store(m, DF(), moments.m + i);
    hn::Store(root, DF(), moments.root + i);
    if constexpr (sizeof(T) == 2) {
      store_dithered(Whole{}, weight, hn::Load(DU32(), bits.weight + i), at.weight + i);
    } else {
      store(Whole{}, weight, at.weight + i);
      if (at.copy != nullptr) store(Whole{}, weight, at.copy + i);
    }
  }
  *at.m_scale = hn::GetLane(hn::BitCast(DF(), hn::MaxOfLanes(di, largest_m)));
  *at.v_scale = hn::GetLane(hn::BitCast(DF(), hn::MaxOfLanes(di, largest_s)));
}

template <typename T>
HWY_INLINE void encode_moments(const BlockPointers<T>& at, const BlockBits& bits, const BlockMoments& moments) {
  const DI32 di;
  const DU32 du;
  const hn::Rebind<int8_t, DF> di8;
  const hn::Rebind<uint8_t, DF> du8;
  const V m_inverse = set(inverse_scale(FirstMomentCode::largest(), *at.m_scale));
  const V s_inverse = set(inverse_scale(SecondMomentCode::largest(), *at.v_scale));
  for (size_t i = 0; i < kBlock; i += num_lanes()) {
    const auto words = hn::Load(du, bits.moments + i);
    const V m = hn::Load(DF(), moments.m + i), s = hn::Load(DF(), moments.root + i);
    const auto m_code = encode<FirstMomentCode>(hn::Mul(hn::Abs(m), m_inverse), hn::And(words, hn::Set(du, 0xffffu)));
    const auto is_negative = hn::RebindMask(di, hn::Lt(m, zero()));
    hn::StoreU(hn::DemoteTo(di8, hn::IfThenElse(is_negative, hn::Neg(m_code), m_code)), di8, at.m + i);
    const auto s_code = encode<SecondMomentCode>(hn::Mul(s, s_inverse), hn::ShiftRight<16>(words));
    const auto least = hn::IfThenElseZero(hn::RebindMask(di, hn::Gt(s, zero())), hn::Set(di, 1));
    hn::StoreU(hn::DemoteTo(du8, hn::Max(s_code, least)), du8, at.v + i);
  }
}

template <typename T>
HWY_INLINE void update_block(const op::AdamW8bit& op, const AdamWFactors& factors, uint64_t block,
                             const BlockPointers<T>& at) {
  const BlockBits bits(op, block, sizeof(T) == 2);
  BlockMoments moments;
  update_weights(factors, at, bits, moments);
  encode_moments(at, bits, moments);
}

/// A block at the end that is shorter: the same on a padded copy.
template <typename T>
void update_short_block(const op::AdamW8bit& op, const AdamWFactors& factors, uint64_t block, size_t count,
                        const BlockPointers<T>& at) {
  T weight[kBlock] = {};
  float gradient[kBlock] = {};
  int8_t m[kBlock] = {};
  uint8_t v[kBlock] = {};
  bf16 copy[kBlock];
  std::memcpy(weight, at.weight, count * sizeof(T));
  std::memcpy(gradient, at.gradient, count * sizeof(float));
  std::memcpy(m, at.m, count);
  std::memcpy(v, at.v, count);
  update_block<T>(op, factors, block,
                  {weight, gradient, m, v, at.m_scale, at.v_scale, at.copy == nullptr ? nullptr : copy});
  std::memcpy(at.weight, weight, count * sizeof(T));
  std::memcpy(at.m, m, count);
  std::memcpy(at.v, v, count);
  if (at.copy != nullptr) std::memcpy(at.copy, copy, count * sizeof(bf16));
}

/// Elements [begin, end); `begin` is a multiple of kMomentBlock.
template <typename T>
void update_range(const op::AdamW8bit& op, const AdamWFactors& factors, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; i += kMomentBlock) {
    const int64_t block = i / kMomentBlock;
    const BlockPointers<T> at{op.weight.data<T>() + i,
                              op.gradient.data<float>() + i,
                              op.m.data<int8_t>() + i,
                              op.v.data<uint8_t>() + i,
                              op.m_scale.data<float>() + block,
                              op.v_scale.data<float>() + block,
                              op.compute_copy.defined() ? op.compute_copy.data<bf16>() + i : nullptr};
    if (end - i >= kMomentBlock) {
      update_block<T>(op, factors, static_cast<uint64_t>(block), at);
    } else {
      update_short_block<T>(op, factors, static_cast<uint64_t>(block), static_cast<size_t>(end - i), at);
    }
  }
}

void adamw8bit_range(const op::AdamW8bit& op, const AdamWFactors& factors, int64_t begin, int64_t end) {
  if (op.weight.dtype() == DType::bf16) {
    update_range<bf16>(op, factors, begin, end);
  } else {
    update_range<float>(op, factors, begin, end);
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
