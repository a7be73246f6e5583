#include "formats/safetensors_header.hpp"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.hpp"

namespace owlet {
namespace {

constexpr uint64_t kMaxTensorBytes = uint64_t{1} << 62;

// Events of the JSON parser, accepted only where the format has them, so that a hostile header can neither nest deeply
// nor repeat a name nor hide a value of another type.
class HeaderBuilder : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit HeaderBuilder(const std::string& where) : where_(where) {}
  SafetensorsHeader take() { return std::move(header_); }

  bool null() override { return refuse("null"); }
  bool boolean(bool) override { return refuse("a boolean"); }
  bool number_float(number_float_t, const string_t& text) override { return refuse("the number " + text); }
  bool binary(binary_t&) override { return refuse("binary data"); }
  bool number_integer(number_integer_t value) override {
    return value < 0 ? refuse("the number " + std::to_string(value)) : number_unsigned(static_cast<uint64_t>(value));
  }

  bool number_unsigned(number_unsigned_t value) override {
    if (place_ == Place::shape) {
      check(value <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max()), ErrorKind::corrupt_file,
            "{}: tensor '{}' has the dimension {}", where_, name_, value);
      header_.entries.back().shape.push_back(static_cast<int64_t>(value));
      return true;
    }
    if (place_ == Place::offsets) {
      offsets_.push_back(value);
      return offsets_.size() <= 2 ? true : refuse("a third offset");
    }
    return refuse("the number " + std::to_string(value));
  }

  bool string(string_t& value) override {
    if (place_ == Place::metadata && !field_.empty()) {
      header_.metadata[field_key_] = value;
      field_.clear();
      return true;
    }
    if (place_ == Place::tensor && field_ == "dtype") {
      header_.entries.back().dtype = value;
      return true;
    }
    return refuse("the text '" + value.substr(0, 60) + "'");
  }

  bool key(string_t& value) override {
    if (place_ == Place::top) {
      check(names_.insert(value).second, ErrorKind::corrupt_file, "{}: the name '{}' appears twice", where_, value);
      name_ = value;
    } else {
      check(fields_.insert(value).second, ErrorKind::corrupt_file, "{}: '{}' has the key '{}' twice", where_, name_,
            value);
      if (place_ == Place::tensor) {
        check(value == "dtype" || value == "shape" || value == "data_offsets", ErrorKind::corrupt_file,
              "{}: tensor '{}' has the unknown key '{}'", where_, name_, value);
      }
      field_ = place_ == Place::metadata ? "value" : value;
      field_key_ = value;
    }
    return true;
  }

  bool start_object(size_t) override {
    if (place_ == Place::outside) {
      place_ = Place::top;
      return true;
    }
    if (place_ != Place::top) return refuse("an object");
    fields_.clear();
    field_.clear();
    if (name_ == "__metadata__") {
      place_ = Place::metadata;
    } else {
      place_ = Place::tensor;
      header_.entries.emplace_back().name = name_;
      offsets_.clear();
    }
    return true;
  }

  bool end_object() override {
    if (place_ == Place::tensor) {
      check(fields_.size() == 3, ErrorKind::corrupt_file, "{}: tensor '{}' lacks one of dtype, shape, data_offsets",
            where_, name_);
      check(offsets_.size() == 2, ErrorKind::corrupt_file, "{}: tensor '{}' has {} data_offsets, expected 2", where_,
            name_, offsets_.size());
      header_.entries.back().begin = offsets_[0];
      header_.entries.back().end = offsets_[1];
    }
    place_ = place_ == Place::top ? Place::outside : Place::top;
    return true;
  }

  bool start_array(size_t) override {
    if (place_ == Place::tensor && field_ == "shape") {
      place_ = Place::shape;
    } else if (place_ == Place::tensor && field_ == "data_offsets") {
      place_ = Place::offsets;
    } else {
      return refuse("an array");
    }
    return true;
  }

  bool end_array() override {
    place_ = Place::tensor;
    field_.clear();
    return true;
  }

  bool parse_error(size_t position, const std::string&, const nlohmann::json::exception&) override {
    fail(ErrorKind::corrupt_file, "{}: the header is no valid JSON at byte {}", where_, position);
  }

 private:
  enum class Place { outside, top, tensor, metadata, shape, offsets };

  bool refuse(const std::string& what) {
    fail(ErrorKind::corrupt_file, "{}: {} where the header of a safetensors file has none (at '{}')", where_, what,
         name_);
  }

  const std::string& where_;
  SafetensorsHeader header_;
  Place place_ = Place::outside;
  std::string name_, field_, field_key_;
  std::set<std::string> names_, fields_;
  std::vector<uint64_t> offsets_;
};

}  // namespace

const std::vector<SafetensorsType>& safetensors_types() {
  static const std::vector<SafetensorsType> types = {
      {"BOOL", 1}, {"U8", 1},  {"I8", 1},  {"F8_E5M2", 1}, {"F8_E4M3", 1}, {"F8_E8M0", 1},
      {"I16", 2},  {"U16", 2}, {"F16", 2}, {"BF16", 2},    {"I32", 4},     {"U32", 4},
      {"F32", 4},  {"C64", 8}, {"F64", 8}, {"I64", 8},     {"U64", 8}};
  return types;
}

int safetensors_type_index(std::string_view spelling) {
  const auto& types = safetensors_types();
  const auto found = std::find_if(types.begin(), types.end(), [&](const auto& t) { return t.spelling == spelling; });
  return found == types.end() ? -1 : static_cast<int>(found - types.begin());
}

uint64_t safetensors_tensor_bytes(std::string_view where, std::string_view name, std::string_view dtype,
                                  const std::vector<int64_t>& shape) {
  const int index = safetensors_type_index(dtype);
  check(index >= 0, ErrorKind::unsupported, "{}: tensor '{}' has the element type '{}', which is not known", where,
        name, dtype);
  uint64_t bytes = safetensors_types()[static_cast<size_t>(index)].element_bytes;
  bool is_empty = false;
  for (const int64_t dim : shape) {
    check(dim >= 0, ErrorKind::corrupt_file, "{}: tensor '{}' has the dimension {}", where, name, dim);
    if (dim == 0) {
      is_empty = true;
      continue;
    }
    check(bytes <= kMaxTensorBytes / static_cast<uint64_t>(dim), ErrorKind::corrupt_file,
          "{}: tensor '{}': its shape asks for more than 2^62 bytes", where, name);
    bytes *= static_cast<uint64_t>(dim);
  }
  return is_empty ? 0 : bytes;
}

SafetensorsHeader parse_safetensors_header(std::string_view json, uint64_t data_bytes, const std::string& where) {
  check(!json.empty() && json.front() == '{', ErrorKind::corrupt_file, "{}: the header does not begin with '{{'",
        where);
  HeaderBuilder builder(where);
  nlohmann::json::sax_parse(json.begin(), json.end(), &builder);
  SafetensorsHeader header = builder.take();
  std::stable_sort(header.entries.begin(), header.entries.end(),
                   [](const auto& a, const auto& b) { return a.begin != b.begin ? a.begin < b.begin : a.end < b.end; });
  uint64_t position = 0;
  for (const SafetensorsHeaderEntry& entry : header.entries) {
    const uint64_t bytes = safetensors_tensor_bytes(where, entry.name, entry.dtype, entry.shape);
    check(entry.begin <= entry.end && entry.end <= data_bytes, ErrorKind::corrupt_file,
          "{}: tensor '{}' lies at bytes {} to {}, but the data part has {} bytes (is the file cut short?)", where,
          entry.name, entry.begin, entry.end, data_bytes);
    check(entry.end - entry.begin == bytes, ErrorKind::corrupt_file,
          "{}: tensor '{}' occupies {} bytes, but its type and shape need {}", where, entry.name,
          entry.end - entry.begin, bytes);
    check(entry.begin == position, ErrorKind::corrupt_file, "{}: tensor '{}' begins at byte {}, expected {} ({})",
          where, entry.name, entry.begin, position, entry.begin < position ? "it overlaps another" : "a hole");
    position = entry.end;
  }
  check(position == data_bytes, ErrorKind::corrupt_file, "{}: the tensors end at byte {}, but the data part has {}",
        where, position, data_bytes);
  return header;
}

}  // namespace owlet
