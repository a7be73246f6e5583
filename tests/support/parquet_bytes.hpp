// For tests: Parquet files of one text column put together by hand, so that every number in them can lie.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace owlet {

/// Thrift's compact protocol, writing.
class ThriftWriter {
 public:
  ThriftWriter& number(int field, int64_t value) {
    head(field, 6);
    varint(static_cast<uint64_t>((value << 1) ^ (value >> 63)));
    return *this;
  }
  ThriftWriter& text(int field, std::string_view value) {
    head(field, 8);
    varint(value.size());
    bytes_ += value;
    return *this;
  }
  /// `value` is a finished struct.
  ThriftWriter& structure(int field, const std::string& value) {
    head(field, 12);
    bytes_ += value;
    return *this;
  }
  ThriftWriter& structures(int field, const std::vector<std::string>& values) {
    head(field, 9);
    bytes_.push_back(static_cast<char>(0xF0 | 12));
    varint(values.size());
    for (const std::string& value : values) bytes_ += value;
    return *this;
  }
  std::string finish() const { return bytes_ + std::string(1, '\0'); }

 private:
  void head(int field, int type) {
    bytes_.push_back(static_cast<char>(type));  // the number stands behind, never as a difference
    varint(static_cast<uint64_t>(field) << 1);
  }
  void varint(uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_.push_back(static_cast<char>(value | 0x80));
    bytes_.push_back(static_cast<char>(value));
  }
  std::string bytes_;
};

inline std::string little_endian(uint32_t value) {
  std::string bytes;
  for (int i = 0; i < 4; ++i) bytes.push_back(static_cast<char>(value >> (8 * i)));
  return bytes;
}

struct PageNumbers {
  int64_t type = 0, encoding = 0, num_values = 1;
  int64_t level_encoding = 3;
  std::optional<int64_t> uncompressed_bytes = {}, compressed_bytes = {};  ///< none: the size of the data
};

/// A data page (or, type 2, a dictionary page): header and `data`.
inline std::string parquet_page(const std::string& data, const PageNumbers& numbers = {}) {
  const auto size = static_cast<int64_t>(data.size());
  const std::string inner = ThriftWriter()
                                .number(1, numbers.num_values)
                                .number(2, numbers.encoding)
                                .number(3, numbers.level_encoding)
                                .number(4, numbers.level_encoding)
                                .finish();
  const std::string dictionary = ThriftWriter().number(1, numbers.num_values).number(2, numbers.encoding).finish();
  ThriftWriter header;
  header.number(1, numbers.type)
      .number(2, numbers.uncompressed_bytes.value_or(size))
      .number(3, numbers.compressed_bytes.value_or(size));
  if (numbers.type == 2) {
    header.structure(7, dictionary);
  } else {
    header.structure(5, inner);
  }
  return header.finish() + data;
}

/// A plain text value.
inline std::string parquet_text(std::string_view text) {
  return little_endian(static_cast<uint32_t>(text.size())) + std::string(text);
}

struct FileNumbers {
  int64_t num_rows = 1, codec = 0, column_type = 6, num_children = 1, repetition = 0;
  std::optional<int64_t> num_values = {}, group_rows = {}, offset = {}, size = {};  ///< none: what is true
  bool is_encrypted = false;
  std::vector<std::string> schema = {};  ///< finished SchemaElements in place of a root and one text column
};

/// The footer, its length and the magic number, for pages of `size` bytes at `offset`.
inline std::string parquet_footer(int64_t offset, int64_t size, const FileNumbers& numbers = {}) {
  const std::string root = ThriftWriter().text(4, "root").number(5, numbers.num_children).finish();
  const std::string leaf =
      ThriftWriter().number(1, 6).number(3, numbers.repetition).text(4, "text").number(6, 0).finish();
  const std::string column_metadata = ThriftWriter()
                                          .number(1, numbers.column_type)
                                          .number(4, numbers.codec)
                                          .number(5, numbers.num_values.value_or(numbers.num_rows))
                                          .number(7, numbers.size.value_or(size))
                                          .number(9, numbers.offset.value_or(offset))
                                          .finish();
  ThriftWriter column;
  column.number(2, 0).structure(3, column_metadata);
  if (numbers.is_encrypted) column.structure(8, ThriftWriter().finish());
  const std::string group = ThriftWriter()
                                .structures(1, {column.finish()})
                                .number(2, size)
                                .number(3, numbers.group_rows.value_or(numbers.num_rows))
                                .finish();
  const std::string footer =
      ThriftWriter()
          .number(1, 1)
          .structures(2, numbers.schema.empty() ? std::vector<std::string>{root, leaf} : numbers.schema)
          .number(3, numbers.num_rows)
          .structures(4, {group})
          .finish();
  return footer + little_endian(static_cast<uint32_t>(footer.size())) + "PAR1";
}

/// A whole file.
inline std::string parquet_bytes(const std::string& pages, const FileNumbers& numbers = {}) {
  return "PAR1" + pages + parquet_footer(4, static_cast<int64_t>(pages.size()), numbers);
}

}  // namespace owlet
