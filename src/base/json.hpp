// JSON through nlohmann-json, with our errors: a parse error names the source and the place.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace owlet {

using Json = nlohmann::json;
/// Keeps the order of keys; for files people read.
using OrderedJson = nlohmann::ordered_json;

/// Parses `text`; throws Error corrupt_file naming `source` and line and column. Depth is bounded (512).
Json parse_json(std::string_view text, std::string_view source);
Json read_json(const std::filesystem::path& path);

/// The member `key` as T; throws Error corrupt_file naming source, key and the type found when missing or of another type.
template <typename T>
T json_get(const Json& object, std::string_view key, std::string_view source);
/// The member `key` as T, or `fallback` where it is missing or null.
template <typename T>
T json_get_or(const Json& object, std::string_view key, T fallback, std::string_view source);

/// One line of JSON; invalid UTF-8 is replaced by U+FFFD rather than thrown.
std::string dump_json(const Json& value, int indent = -1);
std::string dump_json(const OrderedJson& value, int indent = -1);

}  // namespace owlet
