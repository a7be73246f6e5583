#include "formats/parquet/compact_protocol.hpp"

namespace owlet::parquet {
namespace {

constexpr int kMaxDepth = 24;

constexpr int64_t unzigzag(uint64_t value) {
  return static_cast<int64_t>(value >> 1) ^ -static_cast<int64_t>(value & 1);
}

CompactType type_of(uint8_t bits) {
  check(bits <= static_cast<uint8_t>(CompactType::uuid), ErrorKind::corrupt_file, "the metadata has a value of type {}",
        bits);
  return static_cast<CompactType>(bits);
}

}  // namespace

void CompactReader::enter() {
  check(++depth_ <= kMaxDepth, ErrorKind::corrupt_file, "the metadata is nested deeper than {} levels", kMaxDepth);
}

void CompactReader::expect(CompactType type, CompactType wanted, std::string_view name) const {
  check(type == wanted, ErrorKind::corrupt_file, "the metadata has a value of type {} where {} stands",
        static_cast<int>(type), name);
}

uint8_t CompactReader::read_byte() {
  check(position_ < bytes_.size(), ErrorKind::corrupt_file, "the metadata ends after {} bytes, more were expected",
        bytes_.size());
  return static_cast<uint8_t>(bytes_[position_++]);
}

uint64_t CompactReader::read_varint() {
  uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    const uint8_t byte = read_byte();
    const uint64_t bits = byte & 0x7F;
    check(shift < 63 || bits <= 1, ErrorKind::corrupt_file, "the metadata has a number of more than 64 bits");
    value |= bits << shift;
    if ((byte & 0x80) == 0) return value;
  }
  fail(ErrorKind::corrupt_file, "the metadata has a number of more than 64 bits");
}

bool CompactReader::read_field_header(int& field, CompactType& type) {
  const uint8_t byte = read_byte();
  if (byte == 0) return false;
  type = type_of(byte & 0x0F);
  check(type != CompactType::stop, ErrorKind::corrupt_file, "the metadata has a field without a type");
  const int delta = byte >> 4;
  const int64_t number = delta != 0 ? field + delta : unzigzag(read_varint());
  check(std::in_range<int16_t>(number), ErrorKind::corrupt_file, "the metadata has a field with the number {}", number);
  field = static_cast<int>(number);
  return true;
}

size_t CompactReader::read_list_header(CompactType type, CompactType& item_type) {
  check(type == CompactType::list || type == CompactType::set, ErrorKind::corrupt_file,
        "the metadata has a value of type {} where a list stands", static_cast<int>(type));
  const uint8_t byte = read_byte();
  item_type = type_of(byte & 0x0F);
  uint64_t count = byte >> 4;
  if (count == 15) count = read_varint();
  const size_t left = bytes_.size() - position_;  // every item takes a byte at least
  check(count <= left, ErrorKind::corrupt_file, "the metadata has a list of {} items in {} bytes", count, left);
  return static_cast<size_t>(count);
}

bool CompactReader::read_boolean(CompactType type) {
  check(type == CompactType::boolean_true || type == CompactType::boolean_false, ErrorKind::corrupt_file,
        "the metadata has a value of type {} where true or false stands", static_cast<int>(type));
  return type == CompactType::boolean_true;
}

int64_t CompactReader::read_any_integer(CompactType type) {
  if (type == CompactType::i8) return static_cast<int8_t>(read_byte());
  check(type == CompactType::i16 || type == CompactType::i32 || type == CompactType::i64, ErrorKind::corrupt_file,
        "the metadata has a value of type {} where a number stands", static_cast<int>(type));
  return unzigzag(read_varint());
}

std::string_view CompactReader::read_binary(CompactType type) {
  expect(type, CompactType::binary, "a text");
  const uint64_t length = read_varint();
  const size_t begin = position_;
  skip_bytes(length);
  return {reinterpret_cast<const char*>(bytes_.data()) + begin, static_cast<size_t>(length)};
}

void CompactReader::skip_bytes(uint64_t count) {
  const size_t left = bytes_.size() - position_;
  check(count <= left, ErrorKind::corrupt_file, "the metadata has a text of {} bytes where {} are left", count, left);
  position_ += static_cast<size_t>(count);
}

void CompactReader::skip_item(CompactType type) {
  const bool is_boolean = type == CompactType::boolean_true || type == CompactType::boolean_false;
  if (is_boolean) {
    read_byte();
  } else {
    skip(type);
  }
}

void CompactReader::skip_map() {
  enter();
  const uint64_t count = read_varint();
  if (count > 0) {
    const uint8_t types = read_byte();
    const size_t left = bytes_.size() - position_;
    check(count <= left, ErrorKind::corrupt_file, "the metadata has a map of {} entries in {} bytes", count, left);
    for (uint64_t i = 0; i < count; ++i) {
      skip_item(type_of(types >> 4));
      skip_item(type_of(types & 0x0F));
    }
  }
  --depth_;
}

void CompactReader::skip(CompactType type) {
  switch (type) {
    case CompactType::boolean_true:
    case CompactType::boolean_false:
      return;
    case CompactType::i8:
      return skip_bytes(1);
    case CompactType::i16:
    case CompactType::i32:
    case CompactType::i64:
      read_varint();
      return;
    case CompactType::real:
      return skip_bytes(8);
    case CompactType::binary:
      return skip_bytes(read_varint());
    case CompactType::list:
    case CompactType::set:
      return read_list(type, [this](CompactType item) { skip_item(item); });
    case CompactType::map:
      return skip_map();
    case CompactType::structure:
      return read_struct([this](int, CompactType field_type) { skip(field_type); });
    case CompactType::uuid:
      return skip_bytes(16);
    case CompactType::stop:
      break;
  }
  fail(ErrorKind::corrupt_file, "the metadata has a value without a type");
}

}  // namespace owlet::parquet
