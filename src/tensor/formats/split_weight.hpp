// An f32 weight in two halves of 16 bits: a bf16 number, which operations read as it is, and the lower half of the f32
// word, which only the optimizer and checkpoints need. Together they are the f32 weight bit for bit, at two bytes more
// than bf16 alone; an f32 weight beside a bf16 copy takes four more.
//
//   word = bits of the f32 weight
//   upper = (word + 2^15) >> 16         the weight rounded to nearest, ties away from zero
//   lower = word & 0xffff
//   word = (upper << 16) + lower read as a signed number of 16 bits
//
// Ties go away from zero because a tie that is rounded down and one that is rounded up to the same number could not be
// told apart by `lower`. A NaN stays a NaN, quiet.
#pragma once

#include <bit>
#include <cstdint>

#include "tensor/dtype.hpp"

namespace owlet::formats {

/// Both halves of an f32 weight.
struct SplitWeight {
  bf16 upper;
  uint16_t lower = 0;
};

/// The halves of `weight`.
constexpr SplitWeight split_weight(float weight) {
  const auto word = std::bit_cast<uint32_t>(weight);
  const bool is_nan = (word & 0x7fffffffu) > 0x7f800000u;
  const uint32_t rounded = is_nan ? word | 0x00400000u : word + 0x8000u;
  return {bf16::from_bits(static_cast<uint16_t>(rounded >> 16)), static_cast<uint16_t>(word)};
}

/// The weight of two halves.
constexpr float join_weight(bf16 upper, uint16_t lower) {
  const auto offset = static_cast<uint32_t>(static_cast<int16_t>(lower));
  return std::bit_cast<float>((uint32_t{upper.bits} << 16) + offset);
}

}  // namespace owlet::formats
