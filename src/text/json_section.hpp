// One JSON object of a tokenizer's file together with its name in the file, so that messages say where they are:
// "a/tokenizer.json: model.dropout is 0.1, which is not supported".
#pragma once

#include <string>

#include "base/error.hpp"
#include "base/json.hpp"

namespace owlet {

/// The largest id that files may name; tables are sized by ids.
inline constexpr int32_t kMaxTokenId = (1 << 22) - 1;

/// Reads members strictly: Error corrupt_file where a value has the wrong type. Refers to the JSON, which must outlive
/// it.
class JsonSection {
 public:
  /// Throws Error corrupt_file unless `json` is an object. `name` is its path in the file, empty for the document.
  JsonSection(const Json& json, std::string source, std::string name);

  std::string path_of(const std::string& key) const { return name_.empty() ? key : name_ + "." + key; }
  const Json& json() const { return json_; }
  const std::string& source() const { return source_; }
  const std::string& name() const { return name_; }

  /// The member, or null where it is missing.
  const Json& operator[](const std::string& key) const;
  /// The member, an object, as a section.
  JsonSection section(const std::string& key) const { return {(*this)[key], source_, path_of(key)}; }
  /// The value of "type", empty where there is none.
  std::string type() const;

  bool flag(const std::string& key, bool fallback) const;
  std::string text(const std::string& key) const;
  /// Missing and null are the empty text.
  std::string text_or_empty(const std::string& key) const;
  int64_t integer(const std::string& key, int64_t least, int64_t most) const;
  int32_t token_id(const std::string& key) const;

  /// Throws Error unsupported naming the member and its value.
  [[noreturn]] void refuse(const std::string& key) const;
  /// Refuses every value but null, and those for which `is_harmless` holds.
  template <typename IsHarmless>
  void refuse_unless(const std::string& key, IsHarmless&& is_harmless) const {
    const Json& value = (*this)[key];
    if (!value.is_null() && !is_harmless(value)) refuse(key);
  }

 private:
  const Json& json_;
  std::string source_, name_;
};

/// Whether `value` is an object whose "type" is `type`.
bool is_of_type(const Json& value, std::string_view type);

}  // namespace owlet
