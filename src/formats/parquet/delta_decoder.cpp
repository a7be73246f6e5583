#include "formats/parquet/delta_decoder.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "formats/parquet/bit_reader.hpp"

namespace owlet::parquet {
namespace {

constexpr uint64_t kMaxBlockValues = uint64_t{1} << 20;

constexpr int64_t unzigzag(uint64_t value) {
  return static_cast<int64_t>(value >> 1) ^ -static_cast<int64_t>(value & 1);
}

}  // namespace

DeltaDecoder::DeltaDecoder(std::span<const std::byte> bytes) : bytes_(bytes) {
  const uint64_t block_values = read_varint(position_);
  const uint64_t num_miniblocks = read_varint(position_);
  total_ = num_left_ = read_varint(position_);
  value_ = static_cast<uint64_t>(unzigzag(read_varint(position_)));
  check(num_miniblocks >= 1 && num_miniblocks <= kMaxMiniblocks && block_values <= kMaxBlockValues &&
            block_values % num_miniblocks == 0 && block_values / num_miniblocks % 8 == 0 && block_values > 0,
        ErrorKind::corrupt_file, "differences in blocks of {} values, {} parts each", block_values, num_miniblocks);
  num_miniblocks_ = static_cast<size_t>(num_miniblocks);
  values_per_miniblock_ = static_cast<size_t>(block_values / num_miniblocks);
  blocks_begin_ = position_;
  next_miniblock_ = num_miniblocks_;
}

uint64_t DeltaDecoder::read_varint(size_t& position) const {
  uint64_t value = 0;
  for (int shift = 0; shift < 70; shift += 7) {
    check(position < bytes_.size(), ErrorKind::corrupt_file, "differences end after {} bytes, more are needed",
          bytes_.size());
    const auto byte = static_cast<uint64_t>(bytes_[position++]);
    check(shift < 63 || byte <= 1, ErrorKind::corrupt_file, "a difference of more than 64 bits");
    value |= (byte & 0x7F) << shift;
    if ((byte & 0x80) == 0) break;
  }
  return value;
}

void DeltaDecoder::read_block_header(size_t& position, int64_t& min_delta, std::span<const std::byte>& widths) const {
  min_delta = unzigzag(read_varint(position));
  check(num_miniblocks_ <= bytes_.size() - position, ErrorKind::corrupt_file,
        "differences end after {} bytes, more are needed", bytes_.size());
  widths = bytes_.subspan(position, num_miniblocks_);
  position += num_miniblocks_;
  for (const std::byte width : widths) {
    check(static_cast<int>(width) <= 64, ErrorKind::corrupt_file, "differences of {} bits", static_cast<int>(width));
  }
}

size_t DeltaDecoder::size() const {
  size_t position = blocks_begin_;
  uint64_t left = total_ == 0 ? 0 : total_ - 1;  // the first value stands in the header
  while (left > 0) {
    int64_t min_delta = 0;
    std::span<const std::byte> widths;
    read_block_header(position, min_delta, widths);
    for (size_t i = 0; i < widths.size() && left > 0; ++i) {
      const size_t bytes = miniblock_bytes(static_cast<int>(widths[i]));
      check(bytes <= bytes_.size() - position, ErrorKind::corrupt_file,
            "differences end after {} bytes, more are needed", bytes_.size());
      position += bytes;
      left -= std::min<uint64_t>(left, values_per_miniblock_);
    }
  }
  return position;
}

void DeltaDecoder::begin_miniblock() {
  if (next_miniblock_ == num_miniblocks_) {
    int64_t min_delta = 0;
    read_block_header(position_, min_delta, widths_);
    min_delta_ = static_cast<uint64_t>(min_delta);
    next_miniblock_ = 0;
  }
  width_ = static_cast<int>(widths_[next_miniblock_++]);
  // The last part of a stream may be cut off behind its last value.
  const size_t needed_bits =
      static_cast<size_t>(std::min<uint64_t>(num_left_, values_per_miniblock_)) * static_cast<size_t>(width_);
  const size_t left = bytes_.size() - position_;
  check((needed_bits + 7) / 8 <= left, ErrorKind::corrupt_file, "differences end after {} bytes, more are needed",
        bytes_.size());
  miniblock_ = bytes_.subspan(position_, std::min(left, miniblock_bytes(width_)));
  position_ += miniblock_.size();
  bit_ = 0;
  num_in_miniblock_ = values_per_miniblock_;
}

int64_t DeltaDecoder::next() {
  check(num_left_ > 0, ErrorKind::corrupt_file, "a page has {} values, more are needed", total_);
  if (is_first_) {
    is_first_ = false;
  } else {
    if (num_in_miniblock_ == 0) begin_miniblock();
    value_ += min_delta_ + load_bits(miniblock_, bit_, width_);
    bit_ += static_cast<size_t>(width_);
    --num_in_miniblock_;
  }
  --num_left_;
  return static_cast<int64_t>(value_);
}

}  // namespace owlet::parquet
