// What a Parquet file says about itself: schema, row groups, column chunks, and the headers of its pages, as plain
// structs. Source: apache/parquet-format, parquet.thrift. Statistics, indexes and key-value metadata are passed over.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace owlet::parquet {

/// How values lie in pages. The numbers of all enumerations here are those of parquet.thrift.
enum class PhysicalType : uint8_t {
  boolean = 0,
  int32 = 1,
  int64 = 2,
  int96 = 3,
  float32 = 4,
  float64 = 5,
  byte_array = 6,
  fixed_len_byte_array = 7,
};

enum class Repetition : uint8_t { required = 0, optional = 1, repeated = 2 };

/// What values mean, from the annotations of both ages of the format (converted and logical types).
enum class Meaning : uint8_t {
  plain,    ///< no annotation: the physical type says all
  text,     ///< STRING, UTF8, ENUM, JSON
  list,     ///< LIST
  map,      ///< MAP, MAP_KEY_VALUE
  integer,  ///< of bit_width bits, signed or not
  decimal,  ///< with a scale
  date,     ///< days since 1970-01-01
  time,     ///< of the day, in unit
  timestamp,
  null,  ///< all values are null
  uuid,
  float16,
  unsupported,  ///< INTERVAL, BSON, VARIANT, GEOMETRY, what is not known: see Annotation::name
};

enum class TimeUnit : uint8_t { millis, micros, nanos };

struct Annotation {
  Meaning meaning = Meaning::plain;
  int bit_width = 0;  ///< integer
  bool is_signed = true;
  int scale = 0;  ///< decimal: digits behind the point
  TimeUnit unit = TimeUnit::millis;
  bool is_utc = false;    ///< time, timestamp: an instant rather than a local time
  std::string_view name;  ///< of an unsupported one
};

/// A node of the schema, in the order of a walk from the root.
struct SchemaElement {
  std::string name;
  std::optional<PhysicalType> type;  ///< none for groups
  int32_t type_length = 0;           ///< bytes of a fixed_len_byte_array
  Repetition repetition = Repetition::required;
  int32_t num_children = 0;
  Annotation annotation;
};

/// One column of one row group: a run of pages.
struct ColumnChunk {
  PhysicalType type = PhysicalType::boolean;
  int32_t codec = 0;
  int64_t num_values = 0;  ///< nulls and empty lists included
  int64_t compressed_bytes = 0;
  int64_t data_page_offset = 0;
  std::optional<int64_t> dictionary_page_offset;
  bool is_encrypted = false;
  bool is_elsewhere = false;  ///< in another file
};

struct RowGroup {
  std::vector<ColumnChunk> columns;  ///< one for each leaf of the schema, in its order
  int64_t num_rows = 0;
};

struct FileMetadata {
  std::vector<SchemaElement> schema;
  std::vector<RowGroup> row_groups;
  int64_t num_rows = 0;
  std::string created_by;
  bool is_encrypted = false;  ///< some columns may be
};

enum class PageType : uint8_t { data = 0, index = 1, dictionary = 2, data_v2 = 3 };

enum class Encoding : uint8_t {
  plain = 0,
  plain_dictionary = 2,
  rle = 3,
  bit_packed = 4,
  delta_binary_packed = 5,
  delta_length_byte_array = 6,
  delta_byte_array = 7,
  rle_dictionary = 8,
  byte_stream_split = 9,
};

struct PageHeader {
  PageType type = PageType::data;
  int32_t compressed_bytes = 0;
  int32_t uncompressed_bytes = 0;
  std::optional<uint32_t> crc;
  int32_t num_values = 0;
  Encoding encoding = Encoding::plain;
  Encoding definition_encoding = Encoding::rle, repetition_encoding = Encoding::rle;  ///< data
  int32_t definition_bytes = 0, repetition_bytes = 0;                                 ///< data_v2
  bool is_compressed = true;                                                          ///< data_v2
};

/// Reads the footer's bytes. Throws Error corrupt_file, without naming the file.
FileMetadata read_file_metadata(std::span<const std::byte> bytes);

/// Reads a page's header from the beginning of `bytes` and says how many bytes it took. Throws Error corrupt_file; no
/// size or count is negative afterwards.
PageHeader read_page_header(std::span<const std::byte> bytes, size_t& header_bytes);

/// The names of parquet.thrift, in small letters.
std::string_view to_string(PhysicalType type);
std::string_view to_string(Encoding encoding);

}  // namespace owlet::parquet
