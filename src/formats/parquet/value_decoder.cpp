#include "formats/parquet/value_decoder.hpp"

#include <algorithm>
#include <limits>
#include <type_traits>

#include "base/error.hpp"
#include "formats/parquet/bit_reader.hpp"
#include "formats/parquet/delta_decoder.hpp"
#include "formats/parquet/rle_decoder.hpp"

namespace owlet::parquet {
namespace {

[[noreturn]] void fail_ended(size_t page_bytes) {
  fail(ErrorKind::corrupt_file, "the page's {} bytes of values end before its last value", page_bytes);
}

std::string_view text_at(std::span<const std::byte> bytes, size_t begin, size_t length) {
  return {reinterpret_cast<const char*>(bytes.data()) + begin, length};
}

/// Plain numbers of type T.
template <typename T>
class PlainNumbers final : public ValueDecoder {
 public:
  explicit PlainNumbers(std::span<const std::byte> page) : page_(page) {}
  size_t decode(size_t max, ValueBatch& batch) override {
    const size_t count = std::min(max, (page_.size() - position_) / sizeof(T));
    if (count == 0) fail_ended(page_.size());
    batch.clear();
    for (size_t i = 0; i < count; ++i, position_ += sizeof(T)) {
      const T value = load<T>(page_.data() + position_);
      if constexpr (std::is_floating_point_v<T>) {
        batch.reals.push_back(value);
      } else {
        batch.integers.push_back(value);
      }
    }
    return count;
  }

 private:
  std::span<const std::byte> page_;
  size_t position_ = 0;
};

class PlainBooleans final : public ValueDecoder {
 public:
  explicit PlainBooleans(std::span<const std::byte> page) : page_(page) {}
  size_t decode(size_t max, ValueBatch& batch) override {
    const size_t count = std::min(max, page_.size() * 8 - bit_);
    if (count == 0) fail_ended(page_.size());
    batch.clear();
    for (size_t i = 0; i < count; ++i, ++bit_) {
      batch.integers.push_back((static_cast<int>(page_[bit_ / 8]) >> (bit_ % 8)) & 1);
    }
    return count;
  }

 private:
  std::span<const std::byte> page_;
  size_t bit_ = 0;
};

class PlainByteArrays final : public ValueDecoder {
 public:
  explicit PlainByteArrays(std::span<const std::byte> page) : page_(page) {}
  size_t decode(size_t max, ValueBatch& batch) override {
    batch.clear();
    while (batch.bytes.size() < max && page_.size() - position_ >= 4) {
      const size_t length = load<uint32_t>(page_.data() + position_), left = page_.size() - position_ - 4;
      check(length <= left, ErrorKind::corrupt_file, "a value of {} bytes where {} are left", length, left);
      batch.bytes.push_back(text_at(page_, position_ + 4, length));
      position_ += 4 + length;
    }
    if (batch.bytes.empty()) fail_ended(page_.size());
    return batch.bytes.size();
  }

 private:
  std::span<const std::byte> page_;
  size_t position_ = 0;
};

class PlainFixedBytes final : public ValueDecoder {
 public:
  PlainFixedBytes(std::span<const std::byte> page, size_t value_bytes) : page_(page), value_bytes_(value_bytes) {}
  size_t decode(size_t max, ValueBatch& batch) override {
    const size_t count = std::min(max, (page_.size() - position_) / value_bytes_);
    if (count == 0) fail_ended(page_.size());
    batch.clear();
    for (size_t i = 0; i < count; ++i, position_ += value_bytes_) {
      batch.bytes.push_back(text_at(page_, position_, value_bytes_));
    }
    return count;
  }

 private:
  std::span<const std::byte> page_;
  size_t value_bytes_, position_ = 0;
};

class DictionaryValues final : public ValueDecoder {
 public:
  DictionaryValues(std::span<const std::byte> page, const ValueBatch& dictionary, ValueClass kind)
      : dictionary_(dictionary), kind_(kind) {
    // A page of nulls only may leave out even the bit width.
    if (page.empty()) return;
    const int bit_width = static_cast<int>(page[0]);
    check(bit_width <= 32, ErrorKind::corrupt_file, "indices of {} bits into the dictionary", bit_width);
    indices_ = RleDecoder(page.subspan(1), bit_width);
  }
  size_t decode(size_t max, ValueBatch& batch) override {
    picked_.resize(max);
    indices_.decode(picked_);
    batch.clear();
    switch (kind_) {
      case ValueClass::integers:
        pick(dictionary_.integers, batch.integers);
        break;
      case ValueClass::reals:
        pick(dictionary_.reals, batch.reals);
        break;
      case ValueClass::bytes:
        pick(dictionary_.bytes, batch.bytes);
        break;
    }
    return max;
  }

 private:
  template <typename T>
  void pick(const std::vector<T>& from, std::vector<T>& to) const {
    const uint32_t largest = *std::max_element(picked_.begin(), picked_.end());
    check(largest < from.size(), ErrorKind::corrupt_file, "index {} into a dictionary of {} values", largest,
          from.size());
    to.reserve(picked_.size());
    for (const uint32_t index : picked_) to.push_back(from[index]);
  }

  const ValueBatch& dictionary_;
  ValueClass kind_;
  RleDecoder indices_;
  std::vector<uint32_t> picked_;
};

class RleBooleans final : public ValueDecoder {
 public:
  explicit RleBooleans(std::span<const std::byte> page) {
    if (page.size() < 4) return;
    const size_t length = load<uint32_t>(page.data());
    check(length <= page.size() - 4, ErrorKind::corrupt_file, "booleans of {} bytes where {} are left", length,
          page.size() - 4);
    values_ = RleDecoder(page.subspan(4, length), 1);
  }
  size_t decode(size_t max, ValueBatch& batch) override {
    decoded_.resize(max);
    values_.decode(decoded_);
    batch.clear();
    batch.integers.assign(decoded_.begin(), decoded_.end());
    return max;
  }

 private:
  RleDecoder values_;
  std::vector<uint32_t> decoded_;
};

class DeltaNumbers final : public ValueDecoder {
 public:
  DeltaNumbers(std::span<const std::byte> page, bool is_32_bit) : is_32_bit_(is_32_bit) {
    if (!page.empty()) values_ = DeltaDecoder(page);
  }
  size_t decode(size_t max, ValueBatch& batch) override {
    batch.clear();
    for (size_t i = 0; i < max; ++i) {
      const int64_t value = values_.next();
      batch.integers.push_back(is_32_bit_ ? static_cast<int32_t>(static_cast<uint64_t>(value)) : value);
    }
    return max;
  }

 private:
  DeltaDecoder values_;
  bool is_32_bit_;
};

/// Byte j of value i stands at j * (number of values) + i.
class SplitValues final : public ValueDecoder {
 public:
  SplitValues(std::span<const std::byte> page, PhysicalType type, size_t value_bytes)
      : page_(page), type_(type), value_bytes_(value_bytes), num_values_(page.size() / value_bytes) {
    check(page.size() % value_bytes == 0, ErrorKind::corrupt_file, "{} bytes of split values of {} bytes each",
          page.size(), value_bytes);
  }
  size_t decode(size_t max, ValueBatch& batch) override {
    const size_t fit = std::max<size_t>(1, kMaxArenaBytes / value_bytes_);
    const size_t count = std::min({max, num_values_ - next_, fit});
    if (count == 0) fail_ended(page_.size());
    batch.clear();
    batch.arena.resize(count * value_bytes_);
    for (size_t j = 0; j < value_bytes_; ++j) {
      for (size_t i = 0; i < count; ++i) {
        batch.arena[i * value_bytes_ + j] = static_cast<char>(page_[j * num_values_ + next_ + i]);
      }
    }
    next_ += count;
    for (size_t i = 0; i < count; ++i) push(batch.in_arena(i * value_bytes_, value_bytes_), batch);
    return count;
  }

 private:
  static constexpr size_t kMaxArenaBytes = size_t{1} << 20;

  void push(std::string_view value, ValueBatch& batch) const {
    const auto* bytes = reinterpret_cast<const std::byte*>(value.data());
    switch (type_) {
      case PhysicalType::int32:
        batch.integers.push_back(load<int32_t>(bytes));
        break;
      case PhysicalType::int64:
        batch.integers.push_back(load<int64_t>(bytes));
        break;
      case PhysicalType::float32:
        batch.reals.push_back(load<float>(bytes));
        break;
      case PhysicalType::float64:
        batch.reals.push_back(load<double>(bytes));
        break;
      default:
        batch.bytes.push_back(value);
    }
  }

  std::span<const std::byte> page_;
  PhysicalType type_;
  size_t value_bytes_, num_values_, next_ = 0;
};

std::unique_ptr<ValueDecoder> make_plain(const SchemaLeaf& leaf, std::span<const std::byte> page) {
  switch (leaf.type) {
    case PhysicalType::boolean:
      return std::make_unique<PlainBooleans>(page);
    case PhysicalType::int32:
      return std::make_unique<PlainNumbers<int32_t>>(page);
    case PhysicalType::int64:
      return std::make_unique<PlainNumbers<int64_t>>(page);
    case PhysicalType::float32:
      return std::make_unique<PlainNumbers<float>>(page);
    case PhysicalType::float64:
      return std::make_unique<PlainNumbers<double>>(page);
    case PhysicalType::byte_array:
      return std::make_unique<PlainByteArrays>(page);
    case PhysicalType::int96:
    case PhysicalType::fixed_len_byte_array:
      return std::make_unique<PlainFixedBytes>(page, fixed_value_bytes(leaf));
  }
  return nullptr;
}

}  // namespace

void ValueBatch::clear() {
  integers.clear();
  reals.clear();
  bytes.clear();
  arena.clear();
}

ValueClass value_class(PhysicalType type) {
  switch (type) {
    case PhysicalType::boolean:
    case PhysicalType::int32:
    case PhysicalType::int64:
      return ValueClass::integers;
    case PhysicalType::float32:
    case PhysicalType::float64:
      return ValueClass::reals;
    default:
      return ValueClass::bytes;
  }
}

size_t fixed_value_bytes(const SchemaLeaf& leaf) {
  switch (leaf.type) {
    case PhysicalType::int32:
    case PhysicalType::float32:
      return 4;
    case PhysicalType::int96:
      return 12;
    case PhysicalType::fixed_len_byte_array:
      check(leaf.type_length > 0, ErrorKind::corrupt_file, "values of a fixed length of {} bytes", leaf.type_length);
      return static_cast<size_t>(leaf.type_length);
    default:
      return 8;
  }
}

std::unique_ptr<ValueDecoder> make_value_decoder(Encoding encoding, const SchemaLeaf& leaf,
                                                 std::span<const std::byte> page, const ValueBatch* dictionary) {
  const PhysicalType type = leaf.type;
  const bool is_integer = type == PhysicalType::int32 || type == PhysicalType::int64;
  switch (encoding) {
    case Encoding::plain:
      return make_plain(leaf, page);
    case Encoding::plain_dictionary:
    case Encoding::rle_dictionary:
      check(dictionary != nullptr, ErrorKind::corrupt_file,
            "indices into a dictionary, but there is no dictionary page");
      return std::make_unique<DictionaryValues>(page, *dictionary, value_class(type));
    case Encoding::rle:
      if (type == PhysicalType::boolean) return std::make_unique<RleBooleans>(page);
      break;
    case Encoding::delta_binary_packed:
      if (is_integer) return std::make_unique<DeltaNumbers>(page, type == PhysicalType::int32);
      break;
    case Encoding::delta_length_byte_array:
    case Encoding::delta_byte_array: {
      const bool is_fixed = type == PhysicalType::fixed_len_byte_array && encoding == Encoding::delta_byte_array;
      if (type == PhysicalType::byte_array || is_fixed) return make_delta_bytes_decoder(encoding, leaf, page);
      break;
    }
    case Encoding::byte_stream_split:
      if (type == PhysicalType::boolean || type == PhysicalType::byte_array || type == PhysicalType::int96) break;
      return std::make_unique<SplitValues>(page, type, fixed_value_bytes(leaf));
    case Encoding::bit_packed:
      break;
  }
  fail(ErrorKind::unsupported, "values of type {} in the encoding {} ({})", to_string(type), to_string(encoding),
       static_cast<int>(encoding));
}

}  // namespace owlet::parquet
