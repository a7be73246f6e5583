#include "text/json_section.hpp"

namespace owlet {

JsonSection::JsonSection(const Json& json, std::string source, std::string name)
    : json_(json), source_(std::move(source)), name_(std::move(name)) {
  check(json.is_object(), ErrorKind::corrupt_file, "{}: {} is of type {}, expected an object", source_,
        name_.empty() ? "the document" : name_, json.type_name());
}

const Json& JsonSection::operator[](const std::string& key) const {
  static const Json null;
  const auto found = json_.find(key);
  return found == json_.end() ? null : *found;
}

std::string JsonSection::type() const {
  const Json& value = (*this)["type"];
  return value.is_string() ? value.get<std::string>() : std::string();
}

bool JsonSection::flag(const std::string& key, bool fallback) const {
  const Json& value = (*this)[key];
  if (value.is_null()) return fallback;
  check(value.is_boolean(), ErrorKind::corrupt_file, "{}: {} is of type {}, expected true or false", source_,
        path_of(key), value.type_name());
  return value.get<bool>();
}

std::string JsonSection::text(const std::string& key) const {
  const Json& value = (*this)[key];
  check(value.is_string(), ErrorKind::corrupt_file, "{}: {} is of type {}, expected a string", source_, path_of(key),
        value.type_name());
  return value.get<std::string>();
}

std::string JsonSection::text_or_empty(const std::string& key) const {
  return (*this)[key].is_null() ? std::string() : text(key);
}

int64_t JsonSection::integer(const std::string& key, int64_t least, int64_t most) const {
  const Json& value = (*this)[key];
  const bool fits = value.is_number_integer() && value >= least && value <= most;
  check(fits, ErrorKind::corrupt_file, "{}: {} is {}, expected an integer from {} to {}", source_, path_of(key),
        dump_json(value), least, most);
  return value.get<int64_t>();
}

int32_t JsonSection::token_id(const std::string& key) const {
  const Json& value = (*this)[key];
  const bool is_id = value.is_number_integer() && value >= 0 && value <= kMaxTokenId;
  check(is_id, ErrorKind::corrupt_file, "{}: {} is {}, expected an id from 0 to {}", source_, path_of(key),
        dump_json(value), kMaxTokenId);
  return value.get<int32_t>();
}

void JsonSection::refuse(const std::string& key) const {
  std::string value = dump_json((*this)[key]);
  if (value.size() > 200) value = value.substr(0, 200) + "…";
  fail(ErrorKind::unsupported, "{}: {} is {}, which is not supported", source_, path_of(key), value);
}

bool is_of_type(const Json& value, std::string_view type) {
  return value.is_object() && value.contains("type") && value["type"] == type;
}

}  // namespace owlet
