// Element types of tensors and the bf16 number format.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace owlet {

/// Element types. f64 exists for the reference backend; f16 and the small integers for reading and writing files.
enum class DType : uint8_t { f64, f32, bf16, f16, i64, i32, u32, u16, i8, u8 };

/// Bytes of one element.
constexpr size_t size_of(DType dtype) {
  switch (dtype) {
    case DType::f64:
    case DType::i64:
      return 8;
    case DType::f32:
    case DType::i32:
    case DType::u32:
      return 4;
    case DType::bf16:
    case DType::f16:
    case DType::u16:
      return 2;
    case DType::i8:
    case DType::u8:
      return 1;
  }
  return 0;
}

/// Lower-case name: "f32", "bf16", …
std::string_view to_string(DType dtype);
/// The DType of a name as to_string gives it; throws Error invalid_argument listing the known names.
DType parse_dtype(std::string_view name);

/// Brain floating point: the upper half of an IEEE f32 (8 exponent bits, 7 mantissa bits).
struct bf16 {
  uint16_t bits = 0;

  constexpr bf16() = default;
  /// Rounds to nearest, ties to even; NaN stays NaN (quiet), infinities stay.
  explicit bf16(float value) {
    const uint32_t word = std::bit_cast<uint32_t>(value);
    if ((word & 0x7fffffffu) > 0x7f800000u) {
      bits = static_cast<uint16_t>((word >> 16) | 0x0040u);
    } else {
      bits = static_cast<uint16_t>((word + 0x7fffu + ((word >> 16) & 1u)) >> 16);
    }
  }
  explicit operator float() const { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }
  static constexpr bf16 from_bits(uint16_t pattern) {
    bf16 value;
    value.bits = pattern;
    return value;
  }
};
static_assert(sizeof(bf16) == 2);

/// The DType of a C++ element type: dtype_of<float> == DType::f32.
template <typename T>
inline constexpr DType dtype_of = DType::u8;
template <>
inline constexpr DType dtype_of<double> = DType::f64;
template <>
inline constexpr DType dtype_of<float> = DType::f32;
template <>
inline constexpr DType dtype_of<bf16> = DType::bf16;
template <>
inline constexpr DType dtype_of<int64_t> = DType::i64;
template <>
inline constexpr DType dtype_of<int32_t> = DType::i32;
template <>
inline constexpr DType dtype_of<uint32_t> = DType::u32;
template <>
inline constexpr DType dtype_of<uint16_t> = DType::u16;
template <>
inline constexpr DType dtype_of<int8_t> = DType::i8;

/// Unit roundoff of a floating-point type (half the distance from 1 to the next number): the unit of error bounds.
constexpr double unit_roundoff(DType dtype) {
  switch (dtype) {
    case DType::f64:
      return 0x1p-53;
    case DType::f32:
      return 0x1p-24;
    case DType::bf16:
      return 0x1p-8;
    case DType::f16:
      return 0x1p-11;
    default:
      return 0.0;
  }
}

}  // namespace owlet
