// Apache Thrift's compact protocol, reading only: the metadata of Parquet files is written in it.
// Source: thrift/doc/specs/thrift-compact-protocol.md.
//
//   CompactReader reader(bytes);
//   reader.read_struct([&](int field, CompactType type) {
//     if (field == 1) num_rows = reader.read_integer<int64_t>(type);
//     else reader.skip(type);
//   });
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <utility>

#include "base/error.hpp"

namespace owlet::parquet {

/// Types on the wire. A boolean field carries its value in its type.
enum class CompactType : uint8_t {
  stop = 0,
  boolean_true = 1,
  boolean_false = 2,
  i8 = 3,
  i16 = 4,
  i32 = 5,
  i64 = 6,
  real = 7,
  binary = 8,
  list = 9,
  set = 10,
  map = 11,
  structure = 12,
  uuid = 13,
};

/// Reads values one after the other from bytes that it does not own. Throws Error corrupt_file (without naming the
/// file: the caller knows it) for bytes that end early, numbers out of range, wrong types, and nesting deeper than 24.
/// Nothing is allocated; counts of lists are at most the number of bytes left.
class CompactReader {
 public:
  explicit CompactReader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  /// Bytes read so far.
  size_t position() const { return position_; }

  /// Calls on_field(number, type) for each field; it must read or skip the value. Numbers are in [-32768, 32767].
  template <typename OnField>
  void read_struct(OnField&& on_field) {
    enter();
    int field = 0;
    while (true) {
      CompactType type{};
      if (!read_field_header(field, type)) break;
      on_field(field, type);
    }
    --depth_;
  }
  /// A struct that is a field of type `type`.
  template <typename OnField>
  void read_struct(CompactType type, OnField&& on_field) {
    expect(type, CompactType::structure, "a struct");
    read_struct(std::forward<OnField>(on_field));
  }

  /// Calls on_item(item type) for each item of a list or set; it must read or skip the item. Booleans as items are one
  /// byte each, which read_boolean() does not understand: skip them.
  template <typename OnItem>
  void read_list(CompactType type, OnItem&& on_item) {
    enter();
    CompactType item_type{};
    const size_t count = read_list_header(type, item_type);
    for (size_t i = 0; i < count; ++i) on_item(item_type);
    --depth_;
  }

  bool read_boolean(CompactType type);
  /// i8, i16, i32 and i64 alike, as T.
  template <typename T>
  T read_integer(CompactType type) {
    const int64_t value = read_any_integer(type);
    check(std::in_range<T>(value), ErrorKind::corrupt_file, "the metadata has the number {}, expected {} to {}", value,
          int64_t{std::numeric_limits<T>::min()}, int64_t{std::numeric_limits<T>::max()});
    return static_cast<T>(value);
  }
  /// A view into the bytes.
  std::string_view read_binary(CompactType type);
  void skip(CompactType type);

 private:
  void enter();
  void expect(CompactType type, CompactType wanted, std::string_view name) const;
  bool read_field_header(int& field, CompactType& type);
  size_t read_list_header(CompactType type, CompactType& item_type);
  uint8_t read_byte();
  uint64_t read_varint();
  int64_t read_any_integer(CompactType type);
  void skip_bytes(uint64_t count);
  void skip_item(CompactType type);
  void skip_map();

  std::span<const std::byte> bytes_;
  size_t position_ = 0;
  int depth_ = 0;
};

}  // namespace owlet::parquet
