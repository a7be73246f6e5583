#include "base/json.hpp"

#include <algorithm>

#include "base/atomic_file.hpp"
#include "base/error.hpp"

namespace owlet {

namespace {

constexpr int kMaxDepth = 512;
constexpr size_t kMaxValueChars = 60;

struct Place {
  size_t line, column;
};

/// Line and column, both from 1 and the column in bytes, of the byte at `offset`.
Place place_of(std::string_view text, size_t offset) {
  const std::string_view before = text.substr(0, std::min(offset, text.size()));
  const size_t line_start = before.rfind('\n') + 1;  // npos + 1 == 0
  return {1 + static_cast<size_t>(std::count(before.begin(), before.end(), '\n')), before.size() - line_start + 1};
}

/// Where `text` is nested deeper than kMaxDepth, or npos. Recursion over such a document (dump, comparison) could
/// overflow the stack, so it is refused before it is parsed.
size_t find_too_deep(std::string_view text) {
  int depth = 0;
  bool is_inside_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (is_inside_string) {
      if (c == '\\') ++i;
      if (c == '"') is_inside_string = false;
    } else if (c == '"') {
      is_inside_string = true;
    } else if (c == '[' || c == '{') {
      if (++depth > kMaxDepth) return i;
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return std::string_view::npos;
}

void check_depth(std::string_view text, std::string_view source) {
  const size_t at = find_too_deep(text);
  if (at == std::string_view::npos) return;
  const Place place = place_of(text, at);
  fail(ErrorKind::corrupt_file, "{}:{}:{}: JSON is nested deeper than {} levels", source, place.line, place.column,
       kMaxDepth);
}

/// The library's message without its "[json.exception...] parse error at line 1, column 2: " in front.
std::string reason_of(const Json::parse_error& error) {
  const std::string message = error.what();
  const size_t colon = message.find(": ");
  return colon == std::string::npos ? message : message.substr(colon + 2);
}

template <typename AnyJson>
std::string dump_any(const AnyJson& value, int indent) {
  return value.dump(indent, ' ', false, AnyJson::error_handler_t::replace);
}

/// Type and, where it is short, value: `string "7"`.
std::string describe(const Json& value) {
  if (value.is_structured() || value.is_null()) return value.type_name();
  const std::string text = dump_json(value);
  return text.size() > kMaxValueChars ? std::string(value.type_name()) : fmt::format("{} {}", value.type_name(), text);
}

}  // namespace

Json parse_json(std::string_view text, std::string_view source) {
  check_depth(text, source);
  try {
    return Json::parse(text);
  } catch (const Json::parse_error& error) {
    const Place place = place_of(text, error.byte > 0 ? error.byte - 1 : 0);
    fail(ErrorKind::corrupt_file, "{}:{}:{}: invalid JSON: {}", source, place.line, place.column, reason_of(error));
  } catch (const Json::exception& error) {  // numbers out of range
    fail(ErrorKind::corrupt_file, "{}: invalid JSON: {}", source, error.what());
  }
}

Json parse_json_row(std::string_view text) {
  check(find_too_deep(text) == std::string_view::npos, ErrorKind::corrupt_file, "JSON is nested deeper than {} levels",
        kMaxDepth);
  try {
    return Json::parse(text);
  } catch (const Json::parse_error& error) {
    fail(ErrorKind::corrupt_file, "invalid JSON at byte {}: {}", error.byte, reason_of(error));
  } catch (const Json::exception& error) {  // numbers out of range
    fail(ErrorKind::corrupt_file, "invalid JSON: {}", error.what());
  }
}

Json read_json(const std::filesystem::path& path) { return parse_json(read_file(path), path.string()); }

void fail_json_type(const Json& value, std::string_view name, std::string_view source, std::string_view expected) {
  fail(ErrorKind::corrupt_file, "{}: '{}' is {}, expected {}", source, name, describe(value), expected);
}

void fail_json_missing(std::string_view key, std::string_view source) {
  fail(ErrorKind::corrupt_file, "{}: '{}' is missing", source, key);
}

const Json* find_json_member(const Json& object, std::string_view key, std::string_view source) {
  check(object.is_object(), ErrorKind::corrupt_file, "{}: '{}' is looked for in {}, expected an object", source, key,
        object.type_name());
  const auto found = object.find(key);
  return found == object.end() ? nullptr : &*found;
}

std::string dump_json(const Json& value, int indent) { return dump_any(value, indent); }
std::string dump_json(const OrderedJson& value, int indent) { return dump_any(value, indent); }

}  // namespace owlet
