// Eight bits for one moment of an optimizer: a sign or none, four bits of exponent and the rest mantissa, relative to
// the largest magnitude of a block of 256 elements, which is kept in f32 beside the codes.
//
//   value = sign * decode(|code|) * scale / largest(),   scale: largest magnitude of the block
//
// Blocks: Dettmers, Lewis, Shleifer, Zettlemoyer, arXiv:2110.02861, whose code is a table; this one is a small
// floating-point format instead, so that vectors need no look-up. It spans five decades with equal relative steps.
// What is stored is rounded at random in proportion, so that its expectation is exact: rounded to nearest, a moving
// average whose steps are smaller than half a step of the code would stand still.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace owlet::formats {

/// Elements that share a scale.
inline constexpr int64_t kMomentBlock = 256;
/// Scales below this count as zero: their inverse would overflow.
inline constexpr float kLeastMomentScale = 0x1p-120f;

/// Scales of `num_elements` elements.
constexpr int64_t num_moment_blocks(int64_t num_elements) { return (num_elements + kMomentBlock - 1) / kMomentBlock; }

/// Magnitudes with `MantissaBits` bits of mantissa and exponents from 2^-14 to 2^0, subnormal numbers below.
template <int MantissaBits>
struct MomentCode {
  static constexpr int kMantissaBits = MantissaBits;
  static constexpr int kLargestCode = (16 << MantissaBits) - 1;
  /// The magnitude of the largest code.
  static constexpr double largest() { return 2.0 - 1.0 / (1 << MantissaBits); }

  static double decode(int code) {
    const int exponent = code >> MantissaBits, fraction = code & ((1 << MantissaBits) - 1);
    if (exponent == 0) return std::ldexp(fraction, -14 - MantissaBits);
    return std::ldexp((1 << MantissaBits) + fraction, exponent - 15 - MantissaBits);
  }
  /// The code below or above `magnitude`, the one above with a probability that grows from 0 to 1 between them:
  /// `dither` is uniform in (0, 1). Magnitudes beyond largest() give the largest code.
  static int encode(double magnitude, double dither) {
    if (!(magnitude < largest())) return kLargestCode;
    const int exponent = std::max(-14, magnitude > 0 ? std::ilogb(magnitude) : -14);
    const double steps = std::ldexp(magnitude, MantissaBits - exponent);  // of this exponent's size
    const double code = std::floor(steps + dither) + static_cast<double>((exponent + 14) << MantissaBits);
    return std::min(kLargestCode, static_cast<int>(code));
  }
};

/// First moments: three bits of mantissa beside the sign.
using FirstMomentCode = MomentCode<3>;
/// Square roots of second moments, which have no sign. One that is not zero never gets the code of zero: the update
/// divides by it.
using SecondMomentCode = MomentCode<4>;

}  // namespace owlet::formats
