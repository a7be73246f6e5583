#include "formats/parquet/rle_decoder.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "formats/parquet/bit_reader.hpp"

namespace owlet::parquet {
namespace {

/// A varint of at most 32 bits; moves `position` behind it.
uint32_t read_run_header(std::span<const std::byte> bytes, size_t& position) {
  uint32_t value = 0;
  for (int shift = 0; shift < 35; shift += 7) {
    check(position < bytes.size(), ErrorKind::corrupt_file, "runs of values end after {} bytes, more are needed",
          bytes.size());
    const auto byte = static_cast<uint32_t>(bytes[position++]);
    check(shift < 28 || byte < 16, ErrorKind::corrupt_file, "a run of values has a length of more than 32 bits");
    value |= (byte & 0x7F) << shift;
    if ((byte & 0x80) == 0) return value;
  }
  fail(ErrorKind::corrupt_file, "a run of values has a length of more than 32 bits");
}

}  // namespace

void RleDecoder::begin_run() {
  const uint32_t header = read_run_header(bytes_, position_);
  const size_t left = bytes_.size() - position_;
  is_packed_ = (header & 1) != 0;
  if (is_packed_) {
    const uint64_t num_groups = header >> 1;
    // Some writers cut the last group off behind its last value; unpack() finds out whether a value is missing.
    const auto size = static_cast<size_t>(std::min<uint64_t>(num_groups * static_cast<uint64_t>(bit_width_), left));
    packed_ = bytes_.subspan(position_, size);
    packed_bit_ = 0;
    num_left_ = num_groups * 8;
    position_ += size;
    return;
  }
  num_left_ = header >> 1;
  const size_t size = static_cast<size_t>(bit_width_ + 7) / 8;
  check(size <= left, ErrorKind::corrupt_file, "a run's value takes {} bytes, {} are left", size, left);
  value_ = 0;
  for (size_t i = 0; i < size; ++i) value_ |= static_cast<uint32_t>(bytes_[position_ + i]) << (8 * i);
  position_ += size;
}

void RleDecoder::unpack(std::span<uint32_t> out) {
  const size_t width = static_cast<size_t>(bit_width_), end = packed_bit_ + out.size() * width;
  check(end <= packed_.size() * 8, ErrorKind::corrupt_file, "packed values end after {} bytes, {} are needed",
        packed_.size(), (end + 7) / 8);
  const uint64_t mask = (uint64_t{1} << width) - 1;
  size_t i = 0, bit = packed_bit_;
  // A value of up to 32 bits lies within eight bytes, wherever it begins.
  for (; i < out.size() && bit / 8 + 8 <= packed_.size(); ++i, bit += width) {
    out[i] = static_cast<uint32_t>((load<uint64_t>(packed_.data() + bit / 8) >> (bit % 8)) & mask);
  }
  for (; i < out.size(); ++i, bit += width) out[i] = static_cast<uint32_t>(load_bits(packed_, bit, bit_width_));
  packed_bit_ = end;
}

void RleDecoder::decode(std::span<uint32_t> out) {
  while (!out.empty()) {
    // A run of no values is allowed; each takes a byte at least, so that this ends.
    while (num_left_ == 0) begin_run();
    const size_t count = static_cast<size_t>(std::min<uint64_t>(num_left_, out.size()));
    if (is_packed_) {
      unpack(out.first(count));
    } else {
      std::fill_n(out.begin(), count, value_);
    }
    num_left_ -= count;
    out = out.subspan(count);
  }
}

void BitPackedLevels::decode(std::span<uint32_t> out) {
  const size_t needed = bit_ + out.size() * static_cast<size_t>(bit_width_);
  check(needed <= bytes_.size() * 8, ErrorKind::corrupt_file, "levels end after {} bytes, {} are needed", bytes_.size(),
        (needed + 7) / 8);
  for (uint32_t& value : out) {
    value = 0;
    for (int i = 0; i < bit_width_; ++i, ++bit_) {
      const auto byte = static_cast<uint32_t>(bytes_[bit_ / 8]);
      value = (value << 1) | ((byte >> (7 - bit_ % 8)) & 1);
    }
  }
}

}  // namespace owlet::parquet
