#include "formats/parquet/file_metadata.hpp"

#include "base/error.hpp"
#include "formats/parquet/annotation.hpp"
#include "formats/parquet/compact_protocol.hpp"

namespace owlet::parquet {
namespace {

/// A number of the metadata as the enumeration whose members end at `last`.
template <typename Enum>
Enum read_enum(CompactReader& reader, CompactType type, Enum last, std::string_view name) {
  const auto value = reader.read_integer<int32_t>(type);
  check(value >= 0 && value <= static_cast<int32_t>(last), ErrorKind::corrupt_file, "the metadata has the {} {}", name,
        value);
  return static_cast<Enum>(value);
}

template <typename T>
T read_count(CompactReader& reader, CompactType type, std::string_view name) {
  const T value = reader.read_integer<T>(type);
  check(value >= 0, ErrorKind::corrupt_file, "the metadata has a negative {}: {}", name, value);
  return value;
}

SchemaElement read_schema_element(CompactReader& reader, CompactType type) {
  SchemaElement element;
  std::optional<int32_t> converted;
  std::optional<Annotation> logical;
  int32_t scale = 0;
  reader.read_struct(type, [&](int field, CompactType field_type) {
    switch (field) {
      case 1:
        element.type = read_enum(reader, field_type, PhysicalType::fixed_len_byte_array, "physical type");
        break;
      case 2:
        element.type_length = read_count<int32_t>(reader, field_type, "length of a type");
        break;
      case 3:
        element.repetition = read_enum(reader, field_type, Repetition::repeated, "repetition");
        break;
      case 4:
        element.name = reader.read_binary(field_type);
        break;
      case 5:
        element.num_children = read_count<int32_t>(reader, field_type, "number of children");
        break;
      case 6:
        converted = reader.read_integer<int32_t>(field_type);
        break;
      case 7:
        scale = reader.read_integer<int32_t>(field_type);
        break;
      case 10:
        logical = read_logical_type(reader, field_type);
        break;
      default:
        reader.skip(field_type);
    }
  });
  if (converted) {
    element.annotation = annotation_of_converted(*converted);
    element.annotation.scale = scale;
  }
  // The newer annotation says more, unless it is one that this program does not know.
  const bool is_known = logical && (logical->meaning != Meaning::unsupported || !converted);
  if (is_known && logical->meaning != Meaning::plain) element.annotation = *logical;
  return element;
}

void read_column_metadata(CompactReader& reader, CompactType type, ColumnChunk& chunk) {
  reader.read_struct(type, [&](int field, CompactType field_type) {
    switch (field) {
      case 1:
        chunk.type = read_enum(reader, field_type, PhysicalType::fixed_len_byte_array, "physical type");
        break;
      case 4:
        chunk.codec = reader.read_integer<int32_t>(field_type);
        break;
      case 5:
        chunk.num_values = read_count<int64_t>(reader, field_type, "number of values");
        break;
      case 7:
        chunk.compressed_bytes = read_count<int64_t>(reader, field_type, "size of a column");
        break;
      case 9:
        chunk.data_page_offset = read_count<int64_t>(reader, field_type, "offset of a page");
        break;
      case 11:
        chunk.dictionary_page_offset = read_count<int64_t>(reader, field_type, "offset of a dictionary");
        break;
      default:
        reader.skip(field_type);
    }
  });
}

ColumnChunk read_column_chunk(CompactReader& reader, CompactType type) {
  ColumnChunk chunk;
  bool has_metadata = false;
  reader.read_struct(type, [&](int field, CompactType field_type) {
    switch (field) {
      case 1:
        chunk.is_elsewhere = !reader.read_binary(field_type).empty();
        break;
      case 3:
        read_column_metadata(reader, field_type, chunk);
        has_metadata = true;
        break;
      case 8:
      case 9:
        chunk.is_encrypted = true;
        reader.skip(field_type);
        break;
      default:
        reader.skip(field_type);
    }
  });
  check(has_metadata || chunk.is_encrypted, ErrorKind::corrupt_file, "the metadata has a column without a description");
  return chunk;
}

RowGroup read_row_group(CompactReader& reader, CompactType type) {
  RowGroup group;
  reader.read_struct(type, [&](int field, CompactType field_type) {
    if (field == 1) {
      reader.read_list(field_type, [&](CompactType item) { group.columns.push_back(read_column_chunk(reader, item)); });
    } else if (field == 3) {
      group.num_rows = read_count<int64_t>(reader, field_type, "number of rows");
    } else {
      reader.skip(field_type);
    }
  });
  return group;
}

void read_data_header(CompactReader& reader, CompactType type, PageHeader& header) {
  reader.read_struct(type, [&](int field, CompactType field_type) {
    switch (field) {
      case 1:
        header.num_values = read_count<int32_t>(reader, field_type, "number of values");
        break;
      case 2:
        header.encoding = read_enum(reader, field_type, Encoding::byte_stream_split, "encoding");
        break;
      case 3:
        header.definition_encoding = read_enum(reader, field_type, Encoding::byte_stream_split, "encoding");
        break;
      case 4:
        header.repetition_encoding = read_enum(reader, field_type, Encoding::byte_stream_split, "encoding");
        break;
      default:
        reader.skip(field_type);
    }
  });
}

void read_data_v2_header(CompactReader& reader, CompactType type, PageHeader& header) {
  reader.read_struct(type, [&](int field, CompactType field_type) {
    switch (field) {
      case 1:
        header.num_values = read_count<int32_t>(reader, field_type, "number of values");
        break;
      case 4:
        header.encoding = read_enum(reader, field_type, Encoding::byte_stream_split, "encoding");
        break;
      case 5:
        header.definition_bytes = read_count<int32_t>(reader, field_type, "size of levels");
        break;
      case 6:
        header.repetition_bytes = read_count<int32_t>(reader, field_type, "size of levels");
        break;
      case 7:
        header.is_compressed = reader.read_boolean(field_type);
        break;
      default:
        reader.skip(field_type);
    }
  });
}

void read_dictionary_header(CompactReader& reader, CompactType type, PageHeader& header) {
  reader.read_struct(type, [&](int field, CompactType field_type) {
    if (field == 1) {
      header.num_values = read_count<int32_t>(reader, field_type, "number of values");
    } else if (field == 2) {
      header.encoding = read_enum(reader, field_type, Encoding::byte_stream_split, "encoding");
    } else {
      reader.skip(field_type);
    }
  });
}

}  // namespace

FileMetadata read_file_metadata(std::span<const std::byte> bytes) {
  FileMetadata metadata;
  CompactReader reader(bytes);
  reader.read_struct([&](int field, CompactType type) {
    switch (field) {
      case 2:
        reader.read_list(type, [&](CompactType item) { metadata.schema.push_back(read_schema_element(reader, item)); });
        break;
      case 3:
        metadata.num_rows = read_count<int64_t>(reader, type, "number of rows");
        break;
      case 4:
        reader.read_list(type, [&](CompactType item) { metadata.row_groups.push_back(read_row_group(reader, item)); });
        break;
      case 6:
        metadata.created_by = reader.read_binary(type);
        break;
      case 8:
        metadata.is_encrypted = true;
        reader.skip(type);
        break;
      default:
        reader.skip(type);
    }
  });
  return metadata;
}

PageHeader read_page_header(std::span<const std::byte> bytes, size_t& header_bytes) {
  PageHeader header;
  CompactReader reader(bytes);
  reader.read_struct([&](int field, CompactType type) {
    switch (field) {
      case 1:
        header.type = read_enum(reader, type, PageType::data_v2, "page type");
        break;
      case 2:
        header.uncompressed_bytes = read_count<int32_t>(reader, type, "size of a page");
        break;
      case 3:
        header.compressed_bytes = read_count<int32_t>(reader, type, "size of a page");
        break;
      case 4:
        header.crc = static_cast<uint32_t>(reader.read_integer<int32_t>(type));
        break;
      case 5:
        read_data_header(reader, type, header);
        break;
      case 7:
        read_dictionary_header(reader, type, header);
        break;
      case 8:
        read_data_v2_header(reader, type, header);
        break;
      default:
        reader.skip(type);
    }
  });
  header_bytes = reader.position();
  return header;
}

std::string_view to_string(PhysicalType type) {
  switch (type) {
    case PhysicalType::boolean:
      return "boolean";
    case PhysicalType::int32:
      return "int32";
    case PhysicalType::int64:
      return "int64";
    case PhysicalType::int96:
      return "int96";
    case PhysicalType::float32:
      return "float";
    case PhysicalType::float64:
      return "double";
    case PhysicalType::byte_array:
      return "byte_array";
    case PhysicalType::fixed_len_byte_array:
      return "fixed_len_byte_array";
  }
  return "?";
}

std::string_view to_string(Encoding encoding) {
  switch (encoding) {
    case Encoding::plain:
      return "plain";
    case Encoding::plain_dictionary:
      return "plain_dictionary";
    case Encoding::rle:
      return "rle";
    case Encoding::bit_packed:
      return "bit_packed";
    case Encoding::delta_binary_packed:
      return "delta_binary_packed";
    case Encoding::delta_length_byte_array:
      return "delta_length_byte_array";
    case Encoding::delta_byte_array:
      return "delta_byte_array";
    case Encoding::rle_dictionary:
      return "rle_dictionary";
    case Encoding::byte_stream_split:
      return "byte_stream_split";
  }
  return "unknown";
}

}  // namespace owlet::parquet
