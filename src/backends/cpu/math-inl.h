// Exponential and its kin on vectors of f32, per instruction set: within 2 units in the last place, NaN stays NaN,
// infinities give the limits. Highway's own Exp turns NaN into 0, which would hide a broken run.

#if defined(OWLET_BACKENDS_CPU_MATH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef OWLET_BACKENDS_CPU_MATH_INL_H_
#undef OWLET_BACKENDS_CPU_MATH_INL_H_
#else
#define OWLET_BACKENDS_CPU_MATH_INL_H_
#endif

#include "backends/cpu/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace owlet::cpu::HWY_NAMESPACE {

/// 2^n for n in [-126, 127].
HWY_INLINE V power_of_two(hn::Vec<DI32> n) {
  return hn::BitCast(DF(), hn::ShiftLeft<23>(hn::Add(n, hn::Set(DI32(), 127))));
}

// AVX-512 multiplies by 2^n in one instruction, and the order of its minimum and maximum can be chosen so that NaN
// passes. Both forms give the same bits: only the last product is ever rounded.
#if HWY_TARGET == HWY_AVX3
#define OWLET_HAS_SCALE_INSTRUCTION 1
#else
#define OWLET_HAS_SCALE_INSTRUCTION 0
#endif

/// e^x. With n = round(x / ln 2) and r = x - n ln 2: e^x = 2^n e^r, |r| <= 0.35, e^r by its Taylor series (the first
/// left-out term is below 6e-9). Results below the normal numbers are rounded to denormal ones.
HWY_INLINE V exp(V x) {
  // Outside these bounds the result is 0 or infinity; inside, half of n fits an exponent.
  const V lowest = set(-104.5f), highest = set(89.5f);
#if OWLET_HAS_SCALE_INSTRUCTION
  const V clamped = hn::Min(highest, hn::Max(lowest, x));  // of a NaN, the second operand
#else
  const V clamped = hn::Min(hn::Max(x, lowest), highest);
#endif
  const V n = hn::Round(hn::Mul(clamped, set(1.44269504f)));
  // ln 2 in two parts, the first with trailing zeros, so that n times it is exact.
  const V r = hn::NegMulAdd(n, set(-2.12194440e-4f), hn::NegMulAdd(n, set(0.693359375f), clamped));
  V series = set(1.0f / 5040);
  series = hn::MulAdd(series, r, set(1.0f / 720));
  series = hn::MulAdd(series, r, set(1.0f / 120));
  series = hn::MulAdd(series, r, set(1.0f / 24));
  series = hn::MulAdd(series, r, set(1.0f / 6));
  series = hn::MulAdd(series, r, set(0.5f));
  const V value = hn::MulAdd(hn::Mul(series, r), r, hn::Add(r, set(1.0f)));
#if OWLET_HAS_SCALE_INSTRUCTION
  return V{_mm512_scalef_ps(value.raw, n.raw)};
#else
  // In two steps: 2^n itself may be too large or too small for a normal number.
  const auto whole = hn::ConvertTo(DI32(), n);
  const auto half = hn::ShiftRight<1>(whole);
  const V scaled = hn::Mul(hn::Mul(value, power_of_two(half)), power_of_two(hn::Sub(whole, half)));
  return hn::IfThenElse(hn::IsNaN(x), x, scaled);
#endif
}

/// 1 / (1 + e^-x), as e^x / (1 + e^x) below 0, so that nothing overflows and small results keep their digits.
HWY_INLINE V sigmoid(V x) {
  const V e = exp(hn::Neg(hn::Abs(x)));
  const V one = set(1.0f);
  return hn::Div(hn::IfThenElse(hn::Lt(x, zero()), e, one), hn::Add(one, e));
}

/// sigmoid(x) and sigmoid(-x) = 1 - sigmoid(x), both with all their digits, from one exponential.
HWY_INLINE void sigmoid_and_rest(V x, V& value, V& rest) {
  const V e = exp(hn::Neg(hn::Abs(x)));
  const V one = set(1.0f), sum = hn::Add(one, e);
  const auto is_negative = hn::Lt(x, zero());
  value = hn::Div(hn::IfThenElse(is_negative, e, one), sum);
  rest = hn::Div(hn::IfThenElse(is_negative, one, e), sum);
}

/// 2^z within 46 unit roundoffs of f32 (2^-18; rounding to bf16 may cost 2^-9), 0 or infinity far out, NaN for NaN.
/// With n = round(z): 2^n times the polynomial of degree 4 with the least relative error over |z - n| <= 1/2.
HWY_INLINE V narrow_exp2(V z) {
#if !OWLET_HAS_SCALE_INSTRUCTION
  const V argument = z;
  z = hn::Min(hn::Max(z, set(-126.0f)), set(127.0f));
#endif
  const V n = hn::Round(z), r = hn::Sub(z, n);
  V series = set(0.00957010221f);
  series = hn::MulAdd(series, r, set(0.0559178591f));
  series = hn::MulAdd(series, r, set(0.240247443f));
  series = hn::MulAdd(series, r, set(0.693121791f));
  series = hn::MulAdd(series, r, set(0.999999285f));
#if OWLET_HAS_SCALE_INSTRUCTION
  return V{_mm512_scalef_ps(series.raw, n.raw)};  // of an infinite n, 0 or infinity, though r is NaN
#else
  const V scaled = hn::Mul(series, power_of_two(hn::ConvertTo(DI32(), n)));
  return hn::IfThenElse(hn::IsNaN(argument), argument, scaled);
#endif
}

inline constexpr float kLog2E = 1.44269504f;

/// sigmoid for results of type T. The short form's e may be infinite, which gives 0 as it should.
template <typename T>
HWY_INLINE V sigmoid_for(V x) {
  if constexpr (sizeof(T) == sizeof(float)) return sigmoid(x);
  return hn::Div(set(1.0f), hn::Add(set(1.0f), narrow_exp2(hn::Mul(x, set(-kLog2E)))));
}

/// e^(-x^2 / 2), accurate where the square is large. With h the upper half of x's digits, h^2 is exact, and
/// x^2 = h^2 + (x - h)(x + h), whose second term e is below 0.1 wherever the result is not 0.
HWY_INLINE V gaussian(V x) {
  const DU32 du;
  const V bounded = hn::Min(hn::Max(x, set(-20.0f)), set(20.0f));
  const V upper = hn::BitCast(DF(), hn::And(hn::BitCast(du, bounded), hn::Set(du, 0xfffff000u)));
  const V e = hn::Mul(hn::Mul(hn::Sub(bounded, upper), hn::Add(bounded, upper)), set(-0.5f));
  V series = hn::MulAdd(e, set(1.0f / 24), set(1.0f / 6));
  series = hn::MulAdd(series, e, set(0.5f));
  series = hn::MulAdd(series, e, set(1.0f));
  const V value = exp(hn::Mul(hn::Mul(upper, upper), set(-0.5f)));
  return hn::IfThenElse(hn::IsNaN(x), x, hn::MulAdd(hn::Mul(value, e), series, value));
}

/// Standard normal distribution Phi(x), accurate in the lower tail too, given g = gaussian(x).
/// With a = |x| and t = (a - 3) / (a + 3): Phi(-a) = g P(t) / (a + 3), where P is the Chebyshev fit of degree 10 to
/// (a + 3) e^(a^2/2) erfc(a / sqrt 2) / 2 over 0 <= a <= 14.5 (relative error below 4e-9; beyond, g is 0).
HWY_INLINE V normal_cdf(V x, V g) {
  const V a = hn::Min(hn::Abs(x), set(14.5f));
  const V scale = hn::Div(set(1.0f), hn::Add(a, set(3.0f)));
  const V t = hn::Mul(hn::Sub(a, set(3.0f)), scale);
  V p = set(5.53559662954e-5f);
  p = hn::MulAdd(p, t, set(0.000133125908751f));
  p = hn::MulAdd(p, t, set(-0.00024458266635f));
  p = hn::MulAdd(p, t, set(-0.0010342220593f));
  p = hn::MulAdd(p, t, set(0.00102413571102f));
  p = hn::MulAdd(p, t, set(0.0069698131313f));
  p = hn::MulAdd(p, t, set(-0.010462293756f));
  p = hn::MulAdd(p, t, set(-0.0472627452759f));
  p = hn::MulAdd(p, t, set(0.230017677663f));
  p = hn::MulAdd(p, t, set(-0.50933198954f));
  p = hn::MulAdd(p, t, set(0.729083690696f));
  const V lower = hn::Mul(g, hn::Mul(p, scale));
  return hn::IfThenElse(hn::Lt(x, zero()), lower, hn::Sub(set(1.0f), lower));
}

}  // namespace owlet::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#undef OWLET_HAS_SCALE_INSTRUCTION

#endif
