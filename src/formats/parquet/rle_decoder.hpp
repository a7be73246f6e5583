// The run-length / bit-packed mix of levels, dictionary indices and booleans, and the older bit-packed levels.
// Source: apache/parquet-format, Encodings.md ("RLE/Bit-Packing Hybrid", "Bit-packed (Deprecated)").
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace owlet::parquet {

/// Decodes numbers of `bit_width` (0 to 32) bits. Throws Error corrupt_file when asked for more than there are.
class RleDecoder {
 public:
  RleDecoder() = default;
  RleDecoder(std::span<const std::byte> bytes, int bit_width) : bytes_(bytes), bit_width_(bit_width) {}

  /// Fills `out`.
  void decode(std::span<uint32_t> out);

 private:
  void begin_run();
  void unpack(std::span<uint32_t> out);

  std::span<const std::byte> bytes_;
  int bit_width_ = 0;
  size_t position_ = 0;     ///< of the next run
  uint64_t num_left_ = 0;   ///< of the current run
  bool is_packed_ = false;  ///< the current run's kind
  uint32_t value_ = 0;      ///< of a run of equal values
  std::span<const std::byte> packed_;
  size_t packed_bit_ = 0;
};

/// Levels of the oldest files: no runs, most significant bit first.
class BitPackedLevels {
 public:
  BitPackedLevels() = default;
  BitPackedLevels(std::span<const std::byte> bytes, int bit_width) : bytes_(bytes), bit_width_(bit_width) {}
  void decode(std::span<uint32_t> out);

 private:
  std::span<const std::byte> bytes_;
  int bit_width_ = 0;
  size_t bit_ = 0;
};

}  // namespace owlet::parquet
