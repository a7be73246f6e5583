// DELTA_BINARY_PACKED: whole numbers as packed differences. Source: apache/parquet-format, Encodings.md.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace owlet::parquet {

/// Decodes one stream of numbers at the beginning of `bytes`. Throws Error corrupt_file for a stream that is none, that
/// ends early, or that is asked for more numbers than it has. Sums wrap around at 64 bits, as the format wants.
class DeltaDecoder {
 public:
  DeltaDecoder() = default;
  explicit DeltaDecoder(std::span<const std::byte> bytes);

  /// Numbers not yet decoded.
  uint64_t num_left() const { return num_left_; }
  int64_t next();
  /// Bytes that the whole stream takes, found without decoding it.
  size_t size() const;

 private:
  static constexpr size_t kMaxMiniblocks = 512;

  uint64_t read_varint(size_t& position) const;
  /// Reads a block's smallest difference and its bit widths; `position` moves behind them.
  void read_block_header(size_t& position, int64_t& min_delta, std::span<const std::byte>& widths) const;
  size_t miniblock_bytes(int width) const { return static_cast<size_t>(width) * values_per_miniblock_ / 8; }
  void begin_miniblock();

  std::span<const std::byte> bytes_;
  size_t num_miniblocks_ = 0, values_per_miniblock_ = 0;
  uint64_t num_left_ = 0;
  bool is_first_ = true;
  uint64_t value_ = 0;
  size_t blocks_begin_ = 0;
  uint64_t total_ = 0;

  size_t position_ = 0;  ///< of what follows the current miniblock
  std::span<const std::byte> widths_;
  size_t next_miniblock_ = 0;
  uint64_t min_delta_ = 0;
  std::span<const std::byte> miniblock_;
  size_t bit_ = 0, num_in_miniblock_ = 0;
  int width_ = 0;
};

}  // namespace owlet::parquet
