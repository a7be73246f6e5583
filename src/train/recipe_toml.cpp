// Recipes as TOML text: reading with errors that point at the line, writing so that it reads back equal.
#define TOML_ENABLE_FORMATTERS 0
#include <toml++/toml.h>
#include <algorithm>
#include <cmath>
#include <sstream>

#include "base/atomic_file.hpp"
#include "base/error.hpp"
#include "base/nearest_name.hpp"
#include "train/recipe_fields.hpp"

namespace owlet {
namespace {

std::string_view type_name(const toml::node& node) {
  switch (node.type()) {
    case toml::node_type::table:
      return "a table";
    case toml::node_type::array:
      return "an array";
    case toml::node_type::string:
      return "a string";
    case toml::node_type::integer:
      return "an integer";
    case toml::node_type::floating_point:
      return "a number with a fraction";
    case toml::node_type::boolean:
      return "true or false";
    default:
      return "a date or time";
  }
}

std::string join(const std::vector<std::string_view>& words) {
  std::string text;
  for (const std::string_view word : words) text += fmt::format("{}'{}'", text.empty() ? "" : ", ", word);
  return text;
}

/// Puts one TOML value into the field it belongs to; `place` names file and line in errors.
class FieldReader {
 public:
  FieldReader(const RecipeField& field, const toml::node& node, std::string place)
      : field_(field), node_(node), place_(std::move(place)) {}

  void operator()(bool* target) const { *target = value<bool>("true or false"); }
  void operator()(int64_t* target) const { *target = value<int64_t>("an integer"); }
  void operator()(uint64_t* target) const {
    const auto number = value<int64_t>("an integer");
    check(number >= 0, ErrorKind::invalid_argument, "{}: '{}' is {}, it must not be negative", place_, field_.name(),
          number);
    *target = static_cast<uint64_t>(number);
  }
  void operator()(double* target) const {
    *target = node_.is_integer() ? static_cast<double>(*node_.value_exact<int64_t>()) : value<double>("a number");
    check(std::isfinite(*target), ErrorKind::invalid_argument, "{}: '{}' is {}, it must be a finite number", place_,
          field_.name(), *target);
  }
  void operator()(std::string* target) const { *target = value<std::string>("a string"); }
  void operator()(std::vector<std::string>* target) const {
    const toml::array* array = node_.as_array();
    if (array == nullptr) fail_type("an array of strings");
    target->clear();
    for (const toml::node& item : *array) {
      const auto text = item.value_exact<std::string>();
      check(text.has_value(), ErrorKind::invalid_argument, "{}: '{}' has {} in it, every item must be a string", place_,
            field_.name(), type_name(item));
      target->push_back(*text);
    }
  }
  void operator()(const RecipeChoice& choice) const {
    const auto word = value<std::string>(fmt::format("one of {}", join(choice.words)));
    const auto found = std::ranges::find(choice.words, word);
    check(found != choice.words.end(), ErrorKind::invalid_argument, "{}: '{}' is '{}', it must be one of {}", place_,
          field_.name(), word, join(choice.words));
    choice.set(static_cast<size_t>(found - choice.words.begin()));
  }
  void operator()(const RecipePhrase& phrase) const {
    const auto text = value<std::string>(phrase.expected);
    check(phrase.set(text), ErrorKind::invalid_argument, "{}: '{}' is '{}', it must be {}", place_, field_.name(), text,
          phrase.expected);
  }

 private:
  template <typename T>
  T value(std::string_view expected) const {
    const auto found = node_.value_exact<T>();
    if (!found) fail_type(expected);
    return *found;
  }
  [[noreturn]] void fail_type(std::string_view expected) const {
    fail(ErrorKind::invalid_argument, "{}: '{}' is {}, it must be {}", place_, field_.name(), type_name(node_),
         expected);
  }

  const RecipeField& field_;
  const toml::node& node_;
  std::string place_;
};

[[noreturn]] void fail_unknown(const std::string& place, const std::string& name, bool is_section,
                               const std::vector<RecipeField>& fields) {
  std::vector<std::string> known;
  for (const RecipeField& field : fields) {
    if (is_section && !field.section.empty()) known.emplace_back(field.section);
    if (!is_section) known.push_back(field.name());
  }
  std::string nearest = nearest_name(name, known);
  if (nearest.empty() && !is_section) {  // perhaps the right key in the wrong section, or without one
    const auto key = name.substr(name.find('.') + 1);
    for (const RecipeField& field : fields) {
      if (field.key == key) nearest = field.name();
    }
  }
  throw Error(ErrorKind::invalid_argument,
              fmt::format("{}: unknown {} '{}'", place, is_section ? "section" : "key", name),
              nearest.empty() ? std::string() : fmt::format("did you mean '{}'?", nearest));
}

std::string place_of(const toml::node& node, std::string_view source) {
  const auto line = node.source().begin.line;
  return line > 0 ? fmt::format("{}, line {}", source, line) : std::string(source);
}

void read_value(const std::vector<RecipeField>& fields, std::string_view section, std::string_view key,
                const toml::node& node, const std::string& place) {
  for (const RecipeField& field : fields) {
    if (field.section == section && field.key == key) {
      std::visit(FieldReader(field, node, place), field.value);
      return;
    }
  }
  fail_unknown(place, section.empty() ? std::string(key) : fmt::format("{}.{}", section, key), false, fields);
}

void read_table(const toml::table& root, std::string_view source, Recipe& recipe) {
  const std::vector<RecipeField> fields = recipe_fields(recipe);
  for (const auto& [key, node] : root) {
    const toml::table* table = node.as_table();
    if (table == nullptr) {
      read_value(fields, "", key.str(), node, place_of(node, source));
      continue;
    }
    const bool is_known = std::ranges::any_of(fields, [&](const auto& field) { return field.section == key.str(); });
    if (!is_known) fail_unknown(place_of(node, source), std::string(key.str()), true, fields);
    for (const auto& [inner, value] : *table) {
      read_value(fields, key.str(), inner.str(), value, place_of(value, source));
    }
  }
}

toml::table parse_toml(std::string_view text, std::string_view source) {
  try {
    return toml::parse(text, source);
  } catch (const toml::parse_error& error) {
    fail(ErrorKind::corrupt_file, "{}, line {}, column {}: {}", source, error.source().begin.line,
         error.source().begin.column, error.description());
  }
}

/// The value of an override as a TOML node inside a table; a bare word that is no TOML value is a string.
toml::table parse_override_value(std::string_view text) {
  try {
    return toml::parse(fmt::format("value = {}", text));
  } catch (const toml::parse_error&) {
    toml::table table;
    table.insert("value", std::string(text));
    return table;
  }
}

std::string quote(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      quoted += {'\\', c};
    } else if (c == '\n') {
      quoted += "\\n";
    } else if (c == '\t') {
      quoted += "\\t";
    } else if (byte < 0x20 || byte == 0x7f) {
      quoted += fmt::format("\\u{:04X}", byte);
    } else {
      quoted += c;
    }
  }
  return quoted + "\"";
}

struct FieldWriter {
  std::string operator()(const bool* value) const { return *value ? "true" : "false"; }
  std::string operator()(const int64_t* value) const { return fmt::format("{}", *value); }
  std::string operator()(const uint64_t* value) const { return fmt::format("{}", *value); }
  std::string operator()(const double* value) const {
    std::string text = fmt::format("{}", *value);
    if (text.find_first_not_of("-0123456789") == std::string::npos) text += ".0";
    return text;
  }
  std::string operator()(const std::string* value) const { return quote(*value); }
  std::string operator()(const std::vector<std::string>* values) const {
    std::string text = "[";
    for (const std::string& value : *values) text += (text.size() > 1 ? ", " : "") + quote(value);
    return text + "]";
  }
  std::string operator()(const RecipeChoice& choice) const { return quote(choice.words[choice.get()]); }
  std::string operator()(const RecipePhrase& phrase) const { return quote(phrase.get()); }
};

/// A horizon that is asked for replaces the one in the file, in whatever unit that was.
void clear_other_horizons(Recipe& recipe, const std::vector<std::string>& overrides) {
  const bool is_set = std::ranges::any_of(overrides, [](const auto& each) { return each.starts_with("horizon."); });
  if (is_set) recipe.horizon = {};
}

}  // namespace

void override_recipe(Recipe& recipe, const std::vector<std::string>& overrides) {
  clear_other_horizons(recipe, overrides);
  const std::vector<RecipeField> fields = recipe_fields(recipe);
  for (const std::string& text : overrides) {
    const size_t equals = text.find('=');
    check(equals != std::string::npos && equals > 0, ErrorKind::invalid_argument,
          "'{}' sets nothing: section.key=value is needed, for example optimizer.clip=0.5", text);
    const std::string name = text.substr(0, equals);
    const toml::table value = parse_override_value(std::string_view(text).substr(equals + 1));
    const size_t dot = name.find('.');
    const std::string section = dot == std::string::npos ? "" : name.substr(0, dot);
    const std::string key = dot == std::string::npos ? name : name.substr(dot + 1);
    read_value(fields, section, key, *value.get("value"), fmt::format("setting '{}'", text));
  }
}

Recipe parse_recipe(std::string_view text, std::string_view source, const std::vector<std::string>& overrides) {
  Recipe recipe;
  read_table(parse_toml(text, source), source, recipe);
  override_recipe(recipe, overrides);
  recipe.check();
  return recipe;
}

Recipe load_recipe(const std::filesystem::path& path, const std::vector<std::string>& overrides) {
  return parse_recipe(read_file(path, uint64_t{1} << 20), path.string(), overrides);
}

std::string to_toml(const Recipe& recipe) {
  Recipe copy = recipe;
  std::string text;
  std::string_view section;
  for (const RecipeField& field : recipe_fields(copy)) {
    if (field.section != section) {
      section = field.section;
      text += fmt::format("\n[{}]\n", section);
    }
    text += fmt::format("{} = {}\n", field.key, std::visit(FieldWriter{}, field.value));
  }
  return text;
}

std::vector<std::string> recipe_differences(const Recipe& before, const Recipe& after) {
  Recipe old_copy = before, new_copy = after;
  const std::vector<RecipeField> old_fields = recipe_fields(old_copy), new_fields = recipe_fields(new_copy);
  std::vector<std::string> differences;
  for (size_t i = 0; i < old_fields.size(); ++i) {
    const std::string old_value = std::visit(FieldWriter{}, old_fields[i].value);
    const std::string new_value = std::visit(FieldWriter{}, new_fields[i].value);
    if (old_value != new_value) {
      differences.push_back(fmt::format("{}: {} -> {}", old_fields[i].name(), old_value, new_value));
    }
  }
  return differences;
}

}  // namespace owlet
