// JSON through nlohmann-json, with our errors: a parse error names the source and the place.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace owlet {

using Json = nlohmann::json;
/// Keeps the order of keys; for files people read.
using OrderedJson = nlohmann::ordered_json;

/// Parses `text`; throws Error corrupt_file naming `source` and line and column. Depth is bounded (512).
Json parse_json(std::string_view text, std::string_view source);
/// Parses `text`, one row of a larger file; throws Error corrupt_file "invalid JSON at byte N: reason", for the caller
/// to put the place in front. Depth is bounded (512).
Json parse_json_row(std::string_view text);
/// Parses the whole file `path`; throws Error not_found / io / corrupt_file naming it.
Json read_json(const std::filesystem::path& path);

/// `value` as T, strictly: integers must be JSON integers within T's range, floating-point T takes any number, a vector
/// takes an array whose items all convert; T may be Json. Throws Error corrupt_file naming source, `name` and the type.
template <typename T>
T json_to(const Json& value, std::string_view name, std::string_view source);

/// The member `key` as T (rules of json_to); throws Error corrupt_file naming source, key and the type found when
/// missing or of another type.
template <typename T>
T json_get(const Json& object, std::string_view key, std::string_view source);
/// The member `key` as T, or `fallback` where it is missing or null.
template <typename T>
T json_get_or(const Json& object, std::string_view key, T fallback, std::string_view source);

/// One line of JSON (or indented by `indent` >= 0); invalid UTF-8 is replaced by U+FFFD rather than thrown, NaN and
/// infinities become null.
std::string dump_json(const Json& value, int indent = -1);
std::string dump_json(const OrderedJson& value, int indent = -1);

// Definitions of the templates.

/// Throws Error corrupt_file: source, name, what was expected and what `value` is.
[[noreturn]] void fail_json_type(const Json& value, std::string_view name, std::string_view source,
                                 std::string_view expected);
/// The member `key`, or null where `object` has none; throws Error corrupt_file when `object` is not an object.
const Json* find_json_member(const Json& object, std::string_view key, std::string_view source);
[[noreturn]] void fail_json_missing(std::string_view key, std::string_view source);

namespace json_detail {
template <typename T>
struct IsVector : std::false_type {};
template <typename T>
struct IsVector<std::vector<T>> : std::true_type {};

template <typename T>
T to_integer(const Json& value, std::string_view name, std::string_view source) {
  if (value.is_number_unsigned()) {
    const auto number = value.get<uint64_t>();
    if (std::in_range<T>(number)) return static_cast<T>(number);
  } else if (value.is_number_integer()) {
    const auto number = value.get<int64_t>();
    if (std::in_range<T>(number)) return static_cast<T>(number);
  }
  fail_json_type(value, name, source,
                 fmt::format("an integer in [{}, {}]", std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
}
}  // namespace json_detail

template <typename T>
T json_to(const Json& value, std::string_view name, std::string_view source) {
  if constexpr (std::is_same_v<T, Json>) {
    return value;
  } else if constexpr (std::is_same_v<T, bool>) {
    if (!value.is_boolean()) fail_json_type(value, name, source, "true or false");
    return value.get<bool>();
  } else if constexpr (std::is_integral_v<T>) {
    return json_detail::to_integer<T>(value, name, source);
  } else if constexpr (std::is_floating_point_v<T>) {
    if (!value.is_number()) fail_json_type(value, name, source, "a number");
    return value.get<T>();
  } else if constexpr (std::is_same_v<T, std::string>) {
    if (!value.is_string()) fail_json_type(value, name, source, "a string");
    return value.get<std::string>();
  } else {
    static_assert(json_detail::IsVector<T>::value,
                  "json_to reads numbers, bool, std::string, Json and vectors of these");
    if (!value.is_array()) fail_json_type(value, name, source, "an array");
    T items;
    items.reserve(value.size());
    for (const Json& item : value) items.push_back(json_to<typename T::value_type>(item, name, source));
    return items;
  }
}

template <typename T>
T json_get(const Json& object, std::string_view key, std::string_view source) {
  const Json* member = find_json_member(object, key, source);
  if (member == nullptr) fail_json_missing(key, source);
  return json_to<T>(*member, key, source);
}

template <typename T>
T json_get_or(const Json& object, std::string_view key, T fallback, std::string_view source) {
  const Json* member = find_json_member(object, key, source);
  if (member == nullptr || member->is_null()) return fallback;
  return json_to<T>(*member, key, source);
}

}  // namespace owlet
