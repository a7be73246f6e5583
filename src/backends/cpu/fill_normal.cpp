// FillNormal on the CPU: base/random.hpp's random_normal for a vector of positions at once.
#include "backends/cpu/kernels.hpp"
#include "backends/cpu/simd_targets.hpp"
#include "base/parallel_for.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/fill_normal.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
//
#include "backends/cpu/element_bits-inl.h"

HWY_BEFORE_NAMESPACE();
namespace owlet::cpu::HWY_NAMESPACE {

#if HWY_TARGET != HWY_SCALAR

using VU32 = hn::Vec<DU32>;

/// A 32-bit integer as f32, rounded once.
HWY_INLINE V to_float(VU32 value) {
  const DI32 di;
  const V high = hn::ConvertTo(DF(), hn::BitCast(di, hn::ShiftRight<16>(value)));
  const V low = hn::ConvertTo(DF(), hn::BitCast(di, hn::And(value, hn::Set(DU32(), 0xffffu))));
  return hn::MulAdd(high, set(65536.0f), low);
}

/// sqrt(-2 ln(1 - u)) of the fraction u = (high + low 2^-32) 2^-32 cut to 53 bits.
/// With s = u / (2 - u) for small u, where -ln(1 - u) = 2 atanh(s) keeps all digits; else 1 - u = 2^k f with f in
/// [2/3, 4/3) and s = (1 - f) / (1 + f). The series of atanh is cut below 2^-29 of its value.
HWY_INLINE V radius_of(VU32 high, VU32 low) {
  const DU32 du;
  const DI32 di;
  const auto low21 = hn::ShiftRight<11>(low);
  const V u = hn::MulAdd(to_float(high), set(0x1p-32f), hn::Mul(to_float(low21), set(0x1p-53f)));
  const auto low_rest = hn::Sub(hn::Set(du, 1u << 21), low21);
  const V rest = hn::MulAdd(to_float(hn::Xor(high, hn::Set(du, ~0u))), set(0x1p-32f),
                            hn::Mul(to_float(low_rest), set(0x1p-53f)));  // 1 - u
  // Adding the distance from 2/3 to 1 to the bits moves the exponent's border to 2/3.
  const auto bits = hn::BitCast(di, rest);
  const auto shifted = hn::Add(bits, hn::Set(di, 0x3f800000 - 0x3f2aaaab));
  const auto k = hn::Sub(hn::ShiftRight<23>(shifted), hn::Set(di, 127));
  const V f = hn::BitCast(DF(), hn::Sub(bits, hn::ShiftLeft<23>(k)));
  const auto is_small = hn::Lt(u, set(0.5f));
  const V numerator = hn::IfThenElse(is_small, u, hn::Sub(set(1.0f), f));
  const V denominator = hn::IfThenElse(is_small, hn::Sub(set(2.0f), u), hn::Add(set(1.0f), f));
  const V s = hn::Div(numerator, denominator), s2 = hn::Mul(s, s);
  V series = set(1.0f / 15);
  series = hn::MulAdd(series, s2, set(1.0f / 13));
  series = hn::MulAdd(series, s2, set(1.0f / 11));
  series = hn::MulAdd(series, s2, set(1.0f / 9));
  series = hn::MulAdd(series, s2, set(1.0f / 7));
  series = hn::MulAdd(series, s2, set(1.0f / 5));
  series = hn::MulAdd(series, s2, set(1.0f / 3));
  const V half_log = hn::MulAdd(hn::Mul(series, s2), s, s);
  const V whole = hn::IfThenZeroElse(is_small, hn::Mul(hn::ConvertTo(DF(), k), set(-0.693147181f)));
  return hn::Sqrt(hn::Mul(set(2.0f), hn::MulAdd(set(2.0f), half_log, whole)));
}

/// cos(2 pi a) of the fraction a, likewise in two words. The nearest quarter turn is taken off in integers, so that
/// what remains, at most an eighth of a turn, has all its digits; Taylor series to below 2^-28.
HWY_INLINE V cosine_of(VU32 high, VU32 low) {
  const DU32 du;
  const DI32 di;
  const auto quarter = hn::ShiftRight<30>(hn::Add(high, hn::Set(du, 1u << 29)));
  const auto offset = hn::BitCast(di, hn::Sub(high, hn::ShiftLeft<30>(quarter)));
  const auto offset_high = hn::ShiftRight<16>(offset);
  const auto offset_low = hn::And(offset, hn::Set(di, 0xffff));
  const V turns =
      hn::MulAdd(hn::ConvertTo(DF(), offset_high), set(65536.0f),
                 hn::MulAdd(to_float(hn::ShiftRight<11>(low)), set(0x1p-21f), hn::ConvertTo(DF(), offset_low)));
  const V x = hn::Mul(turns, set(0x1p-32f * 6.28318531f)), x2 = hn::Mul(x, x);
  V sine = set(1.0f / 362880);
  sine = hn::MulAdd(sine, x2, set(-1.0f / 5040));
  sine = hn::MulAdd(sine, x2, set(1.0f / 120));
  sine = hn::MulAdd(sine, x2, set(-1.0f / 6));
  sine = hn::MulAdd(hn::Mul(sine, x2), x, x);
  V cosine = set(1.0f / 40320);
  cosine = hn::MulAdd(cosine, x2, set(-1.0f / 720));
  cosine = hn::MulAdd(cosine, x2, set(1.0f / 24));
  cosine = hn::MulAdd(cosine, x2, set(-0.5f));
  cosine = hn::MulAdd(cosine, x2, set(1.0f));
  const auto odd = hn::Ne(hn::And(quarter, hn::Set(du, 1u)), hn::Zero(du));
  // Quarters 1 and 2 are negative: -sin and -cos.
  const auto sign = hn::ShiftLeft<30>(hn::And(hn::Add(quarter, hn::Set(du, 1u)), hn::Set(du, 2u)));
  const V magnitude = hn::IfThenElse(hn::RebindMask(DF(), odd), sine, cosine);
  return hn::Xor(magnitude, hn::BitCast(DF(), sign));
}

template <typename T>
void fill_normal(const op::FillNormal& op, int64_t begin, int64_t end) {
  const DU32 du;
  const PhiloxKeys keys(op.seed);
  T* y = op.y.data<T>() + begin;
  for_each_vector(static_cast<size_t>(end - begin), [&](size_t i, auto lanes) HWY_ATTR {
    const auto position = static_cast<uint64_t>(begin) + i;
    auto word0 = hn::Iota(du, static_cast<uint32_t>(position));
    auto word1 = hn::Set(du, static_cast<uint32_t>(position >> 32));
    auto word2 = hn::Set(du, static_cast<uint32_t>(op.stream));
    auto word3 = hn::Set(du, static_cast<uint32_t>(op.stream >> 32));
    philox_rounds(keys, word0, word1, word2, word3);
    const V normal = hn::Mul(radius_of(word1, word0), cosine_of(word3, word2));
    store(lanes, hn::MulAdd(normal, set(op.deviation), set(op.mean)), y + i);
  });
}

#else

template <typename T>
void fill_normal(const op::FillNormal& op, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i) {
    const double draw = random_normal(op.seed, op.stream, static_cast<uint64_t>(i));
    op.y.data<T>()[i] = T(static_cast<float>(op.mean + op.deviation * draw));
  }
}

#endif

void fill_normal_range(const op::FillNormal& op, int64_t begin, int64_t end) {
  op.y.dtype() == DType::bf16 ? fill_normal<bf16>(op, begin, end) : fill_normal<float>(op, begin, end);
}

}  // namespace owlet::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace owlet::cpu {

HWY_EXPORT(fill_normal_range);

void run(const op::FillNormal& op, KernelContext&) {
  // Ranges of a power of two: none crosses a border where the upper word of a position changes.
  parallel_sweep(op.y.num_elements(), kElementsPerRange, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(fill_normal_range)(op, begin, end);
  });
}

}  // namespace owlet::cpu
#endif
