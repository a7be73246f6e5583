#include "formats/parquet/page_reader.hpp"

#include <algorithm>
#include <bit>

#include "base/checksum.hpp"
#include "base/error.hpp"
#include "formats/parquet/bit_reader.hpp"

namespace owlet::parquet {
namespace {

/// Pages of the mapped file are given back when so many bytes have been read.
constexpr uint64_t kReleaseBytes = uint64_t{1} << 22;

}  // namespace

LevelDecoder::LevelDecoder(std::span<const std::byte> bytes, uint32_t max_level, Encoding encoding)
    : max_level_(max_level), is_bit_packed_(encoding == Encoding::bit_packed) {
  const int bit_width = std::bit_width(max_level);
  if (is_bit_packed_) {
    packed_ = BitPackedLevels(bytes, bit_width);
  } else {
    runs_ = RleDecoder(bytes, bit_width);
  }
}

void LevelDecoder::decode(std::span<uint32_t> out) {
  if (max_level_ == 0) {
    std::fill(out.begin(), out.end(), 0);
    return;
  }
  if (is_bit_packed_) {
    packed_.decode(out);
  } else {
    runs_.decode(out);
  }
  uint32_t largest = 0;
  for (const uint32_t level : out) largest = std::max(largest, level);
  check(largest <= max_level_, ErrorKind::corrupt_file, "level {} in a column whose highest is {}", largest,
        max_level_);
}

PageReader::PageReader(const ParquetFile& file, const ColumnChunk& chunk, const SchemaLeaf& leaf,
                       uint64_t max_page_bytes)
    : file_(&file), chunk_(&chunk), leaf_(&leaf), max_page_bytes_(max_page_bytes) {
  if (chunk.is_encrypted) throw Error(ErrorKind::unsupported, "the column is encrypted", "write it without encryption");
  check(!chunk.is_elsewhere, ErrorKind::unsupported, "the column's pages are in another file");
  check_codec(chunk.codec);
  check(chunk.type == leaf.type, ErrorKind::corrupt_file, "values of type {}, the schema says {}",
        to_string(chunk.type), to_string(leaf.type));
  begin_ = static_cast<uint64_t>(chunk.data_page_offset);
  // Some writers set 0 where there is no dictionary.
  if (chunk.dictionary_page_offset && *chunk.dictionary_page_offset > 0) {
    begin_ = std::min(begin_, static_cast<uint64_t>(*chunk.dictionary_page_offset));
  }
  const auto size = static_cast<uint64_t>(chunk.compressed_bytes);
  const bool is_empty = chunk.num_values == 0 && size == 0;
  if (!is_empty) {
    check(begin_ >= 4 && begin_ <= file.data_end() && size <= file.data_end() - begin_, ErrorKind::corrupt_file,
          "its pages take bytes {} to {}, those of the file take 4 to {}", begin_, begin_ + size, file.data_end());
  }
  position_ = released_ = begin_;
  end_ = begin_ + size;
}

PageReader::~PageReader() { release_read_bytes(); }

void PageReader::release_read_bytes() {
  file_->bytes().release_pages(released_, position_ - released_);
  released_ = position_;
}

std::span<const std::byte> PageReader::take_page_bytes(PageHeader& header) {
  const auto left = file_->bytes().bytes().subspan(position_, end_ - position_);
  size_t header_bytes = 0;
  header = read_page_header(left, header_bytes);
  const auto size = static_cast<size_t>(header.compressed_bytes),
             unpacked = static_cast<size_t>(header.uncompressed_bytes);
  check(size <= left.size() - header_bytes, ErrorKind::corrupt_file, "a page of {} bytes where {} are left", size,
        left.size() - header_bytes);
  check(std::max(size, unpacked) <= max_page_bytes_, ErrorKind::corrupt_file,
        "a page of {} bytes, {} unpacked: more than {} are not read", size, unpacked, max_page_bytes_);
  const auto bytes = left.subspan(header_bytes, size);
  if (header.crc) {
    const uint32_t crc = crc32(bytes);
    check(crc == *header.crc, ErrorKind::corrupt_file,
          "the page at byte {} has checksum {:08x}, its header says {:08x}", position_, crc, *header.crc);
  }
  position_ += header_bytes + size;
  return bytes;
}

std::span<const std::byte> PageReader::unpack(std::span<const std::byte> packed, size_t size, PageBuffer& buffer) {
  if (chunk_->codec == kUncompressed) {
    check(packed.size() == size, ErrorKind::corrupt_file, "a page of {} bytes that is not packed, its header says {}",
          packed.size(), size);
    return packed;
  }
  if (size == 0) return {};
  const auto unpacked = buffer.resize(size);
  decompressor_.decompress(chunk_->codec, packed, unpacked);
  return unpacked;
}

bool PageReader::next(DataPage& page) {
  if (position_ - released_ >= kReleaseBytes) release_read_bytes();
  const auto num_values = static_cast<uint64_t>(chunk_->num_values);
  while (num_entries_ < num_values) {
    check(position_ < end_, ErrorKind::corrupt_file, "the pages have {} values, the metadata says {}", num_entries_,
          num_values);
    PageHeader header;
    const auto bytes = take_page_bytes(header);
    if (header.type == PageType::dictionary) {
      read_dictionary(header, bytes);
    } else if (header.type != PageType::index && header.num_values > 0) {
      num_entries_ += static_cast<uint64_t>(header.num_values);
      check(num_entries_ <= num_values, ErrorKind::corrupt_file,
            "the pages have {} values or more, the metadata says {}", num_entries_, num_values);
      page = {};
      page.num_entries = static_cast<uint32_t>(header.num_values);
      page.encoding = header.encoding;
      if (header.type == PageType::data) {
        split_data(header, bytes, page);
      } else {
        split_data_v2(header, bytes, page);
      }
      return true;
    }
  }
  return false;
}

void PageReader::read_dictionary(const PageHeader& header, std::span<const std::byte> bytes) {
  check(!has_dictionary_ && num_entries_ == 0, ErrorKind::corrupt_file,
        "a second dictionary page, or one behind values");
  check(header.encoding == Encoding::plain || header.encoding == Encoding::plain_dictionary, ErrorKind::unsupported,
        "a dictionary in the encoding {}", to_string(header.encoding));
  const auto unpacked = unpack(bytes, static_cast<size_t>(header.uncompressed_bytes), dictionary_buffer_);
  const auto num_values = static_cast<size_t>(header.num_values);
  size_t count = 0;
  if (num_values > 0)
    count = make_value_decoder(Encoding::plain, *leaf_, unpacked, nullptr)->decode(num_values, dictionary_);
  check(count == num_values, ErrorKind::corrupt_file, "a dictionary of {} values, its page has {}", num_values, count);
  has_dictionary_ = true;
}

std::span<const std::byte> PageReader::take_levels(std::span<const std::byte>& bytes, uint32_t max_level,
                                                   Encoding encoding, int32_t num_values) const {
  if (max_level == 0) return {};
  uint64_t length = 0;
  if (encoding == Encoding::bit_packed) {
    length = (static_cast<uint64_t>(num_values) * static_cast<uint64_t>(std::bit_width(max_level)) + 7) / 8;
  } else {
    check(encoding == Encoding::rle, ErrorKind::unsupported, "levels in the encoding {}", to_string(encoding));
    check(bytes.size() >= 4, ErrorKind::corrupt_file, "{} bytes left for a page's levels", bytes.size());
    length = load<uint32_t>(bytes.data());
    bytes = bytes.subspan(4);
  }
  check(length <= bytes.size(), ErrorKind::corrupt_file, "levels of {} bytes where {} are left", length, bytes.size());
  const auto levels = bytes.first(static_cast<size_t>(length));
  bytes = bytes.subspan(levels.size());
  return levels;
}

void PageReader::split_data(const PageHeader& header, std::span<const std::byte> bytes, DataPage& page) {
  auto rest = unpack(bytes, static_cast<size_t>(header.uncompressed_bytes), page_buffer_);
  const uint32_t max_repetition = leaf_->max_repetition_level, max_definition = leaf_->max_definition_level;
  const auto repetition = take_levels(rest, max_repetition, header.repetition_encoding, header.num_values);
  page.repetition = LevelDecoder(repetition, max_repetition, header.repetition_encoding);
  const auto definition = take_levels(rest, max_definition, header.definition_encoding, header.num_values);
  page.definition = LevelDecoder(definition, max_definition, header.definition_encoding);
  page.values = rest;
}

void PageReader::split_data_v2(const PageHeader& header, std::span<const std::byte> bytes, DataPage& page) {
  const auto repetition_bytes = static_cast<size_t>(header.repetition_bytes);
  const auto definition_bytes = static_cast<size_t>(header.definition_bytes);
  const auto unpacked_bytes = static_cast<size_t>(header.uncompressed_bytes);
  const size_t levels_bytes = repetition_bytes + definition_bytes;  // both below 2^31
  check(levels_bytes <= bytes.size() && levels_bytes <= unpacked_bytes, ErrorKind::corrupt_file,
        "levels of {} bytes in a page of {} bytes, {} unpacked", levels_bytes, bytes.size(), unpacked_bytes);
  page.repetition = LevelDecoder(bytes.first(repetition_bytes), leaf_->max_repetition_level, Encoding::rle);
  page.definition =
      LevelDecoder(bytes.subspan(repetition_bytes, definition_bytes), leaf_->max_definition_level, Encoding::rle);
  const auto values = bytes.subspan(levels_bytes);
  page.values = header.is_compressed ? unpack(values, unpacked_bytes - levels_bytes, page_buffer_) : values;
}

}  // namespace owlet::parquet
