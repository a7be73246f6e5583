// Numbers of any width packed bit by bit, least significant bit first.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

namespace owlet::parquet {

static_assert(std::endian::native == std::endian::little, "Parquet's numbers are read as they lie in memory");

template <typename T>
T load(const std::byte* bytes) {
  static_assert(std::is_trivially_copyable_v<T>);
  T value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

/// The `width` (0 to 64) bits from bit `bit` on; bits beyond the end of `bytes` are zero.
inline uint64_t load_bits(std::span<const std::byte> bytes, size_t bit, int width) {
  if (width == 0) return 0;
  const size_t first = bit / 8;
  const int shift = static_cast<int>(bit % 8);
  const size_t left = first < bytes.size() ? bytes.size() - first : 0;
  uint64_t low = 0, high = 0;
  if (left > 8) {
    low = load<uint64_t>(bytes.data() + first);
    high = static_cast<uint64_t>(bytes[first + 8]);
  } else if (left > 0) {
    std::memcpy(&low, bytes.data() + first, left);
  }
  uint64_t value = low >> shift;
  if (shift > 0) value |= high << (64 - shift);
  return width == 64 ? value : value & ((uint64_t{1} << width) - 1);
}

}  // namespace owlet::parquet
