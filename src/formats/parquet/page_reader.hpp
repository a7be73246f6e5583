// The pages of one column in one row group: found, checked and unpacked one by one.
#pragma once

#include <cstdint>
#include <span>

#include "formats/parquet/codec.hpp"
#include "formats/parquet/parquet_file.hpp"
#include "formats/parquet/rle_decoder.hpp"
#include "formats/parquet/value_decoder.hpp"

namespace owlet::parquet {

/// Levels from 0 to `max_level`; where that is 0, none are stored.
class LevelDecoder {
 public:
  LevelDecoder() = default;
  LevelDecoder(std::span<const std::byte> bytes, uint32_t max_level, Encoding encoding);
  /// Fills `out`. Throws Error corrupt_file for a level above max_level.
  void decode(std::span<uint32_t> out);

 private:
  uint32_t max_level_ = 0;
  bool is_bit_packed_ = false;
  RleDecoder runs_;
  BitPackedLevels packed_;
};

struct DataPage {
  uint32_t num_entries = 0;  ///< values, nulls and empty lists
  Encoding encoding = Encoding::plain;
  LevelDecoder repetition, definition;
  std::span<const std::byte> values;
};

/// Errors do not name the place: the column reader does. Memory: one unpacked page and the dictionary.
class PageReader {
 public:
  /// Throws Error: corrupt_file for a chunk that does not lie inside the file or whose type is not the schema's,
  /// unsupported for its codec or encryption. Pages larger than `max_page_bytes` are refused.
  PageReader(const ParquetFile& file, const ColumnChunk& chunk, const SchemaLeaf& leaf, uint64_t max_page_bytes);

  ~PageReader();
  PageReader(const PageReader&) = delete;
  PageReader& operator=(const PageReader&) = delete;

  /// The next page with entries; false behind the last. What the page before it pointed to is gone.
  bool next(DataPage& page);
  /// Null before a dictionary page was read; stays valid as long as the reader.
  const ValueBatch* dictionary() const { return has_dictionary_ ? &dictionary_ : nullptr; }
  /// Bytes of the file read so far.
  uint64_t bytes_read() const { return position_ - begin_; }

 private:
  void release_read_bytes();
  std::span<const std::byte> take_page_bytes(PageHeader& header);
  std::span<const std::byte> unpack(std::span<const std::byte> packed, size_t size, PageBuffer& buffer);
  void read_dictionary(const PageHeader& header, std::span<const std::byte> bytes);
  void split_data(const PageHeader& header, std::span<const std::byte> bytes, DataPage& page);
  void split_data_v2(const PageHeader& header, std::span<const std::byte> bytes, DataPage& page);
  std::span<const std::byte> take_levels(std::span<const std::byte>& bytes, uint32_t max_level, Encoding encoding,
                                         int32_t num_values) const;

  const ParquetFile* file_;
  const ColumnChunk* chunk_;
  const SchemaLeaf* leaf_;
  uint64_t max_page_bytes_;
  uint64_t begin_ = 0, end_ = 0, position_ = 0, released_ = 0;  ///< in the file
  uint64_t num_entries_ = 0;                                    ///< of the pages so far
  Decompressor decompressor_;
  PageBuffer page_buffer_, dictionary_buffer_;
  ValueBatch dictionary_;
  bool has_dictionary_ = false;
};

}  // namespace owlet::parquet
