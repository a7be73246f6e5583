#include "text/pre_tokenizer_json.hpp"

#include <algorithm>

#include "text/byte_alphabet.hpp"
#include "text/json_section.hpp"
#include "text/split_steps.hpp"

namespace owlet {

namespace {

constexpr size_t kMaxSteps = 32;

// Runs the steps one inside the other: each part goes through all later steps before the next one is cut, so that no
// list of parts is ever held.
class SteppedPreTokenizer final : public PreTokenizer {
 public:
  SteppedPreTokenizer(std::vector<std::unique_ptr<SplitStep>> steps, bool ends_in_alphabet)
      : steps_(std::move(steps)), ends_in_alphabet_(ends_in_alphabet) {}

  void split(std::string_view text, WordSink sink) const override { split_part(text, true, sink); }
  void split_part(std::string_view text, bool is_at_start, WordSink sink) const override {
    run(0, {text, is_at_start}, sink);
  }
  size_t safe_cut(std::string_view text, size_t) const override { return text.size(); }

 private:
  void run(size_t step, TextPart part, WordSink sink) const {
    if (part.text.empty()) return;
    if (step < steps_.size()) {
      steps_[step]->split(part, [&](TextPart next) { run(step + 1, next, sink); });
    } else if (ends_in_alphabet_) {
      sink(unspell_bytes(part.text).value_or(std::string(part.text)));
    } else {
      sink(part.text);
    }
  }

  std::vector<std::unique_ptr<SplitStep>> steps_;
  bool ends_in_alphabet_;
};

// The steps of a section in order; those of a Sequence one by one.
std::vector<JsonSection> list_steps(const Json& json, const std::string& source, const std::string& name) {
  std::vector<JsonSection> steps;
  if (json.is_null()) return steps;
  const JsonSection section(json, source, name);
  if (section.type() != "Sequence") return {section};
  const Json& list = section["pretokenizers"];
  const std::string list_name = section.path_of("pretokenizers");
  check(list.is_array() && list.size() <= kMaxSteps, ErrorKind::corrupt_file,
        "{}: {} is of type {} with {} items, expected an array of at most {}", source, list_name, list.type_name(),
        list.size(), kMaxSteps);
  for (const Json& item : list) steps.emplace_back(item, source, fmt::format("{}[{}]", list_name, steps.size()));
  return steps;
}

// Split by an expression that a named splitter has, every match a part.
std::string_view named_split(const Json& json) {
  if (!is_of_type(json, "Split") || json.value("behavior", Json()) != "Isolated") return {};
  if (json.value("invert", Json(false)) != false || !json.contains("pattern")) return {};
  const Json& pattern = json["pattern"];
  if (!pattern.is_object() || !pattern.contains("Regex") || !pattern["Regex"].is_string()) return {};
  return pre_tokenizer_for_regex(pattern["Regex"].get_ref<const std::string&>());
}

bool is_plain_byte_level(const Json& json, bool uses_regex) {
  // true is the default of both flags.
  return is_of_type(json, "ByteLevel") && json.value("add_prefix_space", Json(true)) == false &&
         json.value("use_regex", Json(true)) == uses_regex;
}

}  // namespace

std::unique_ptr<PreTokenizer> make_pre_tokenizer_from_json(const Json& json, const std::string& source,
                                                           const std::string& name) {
  std::vector<std::unique_ptr<SplitStep>> steps;
  const std::vector<JsonSection> sections = list_steps(json, source, name);
  bool is_in_alphabet = false, ends_in_alphabet = false;
  for (const JsonSection& section : sections) {
    const std::string type = section.type();
    if (type == "ByteLevel") {
      if (is_in_alphabet) section.refuse("type");
      is_in_alphabet = true;
      ends_in_alphabet = &section != &sections.back();
      append_byte_level_steps(section, ends_in_alphabet, steps);
      continue;
    }
    // After ByteLevel other characters than the alphabet's would stand for nothing.
    if (type == "Metaspace" && is_in_alphabet) section.refuse("type");
    append_split_steps(section, named_split(section.json()), steps);
  }
  return std::make_unique<SteppedPreTokenizer>(std::move(steps), ends_in_alphabet);
}

std::string_view named_pre_tokenizer_of(const Json& json) {
  if (is_plain_byte_level(json, true)) return "gpt2";
  if (!is_of_type(json, "Sequence") || !json.contains("pretokenizers")) return {};
  const Json& list = json["pretokenizers"];
  const bool fits = list.is_array() && list.size() == 2 && is_plain_byte_level(list[1], false);
  return fits ? named_split(list[0]) : std::string_view();
}

OrderedJson json_of_named_pre_tokenizer(std::string_view name) {
  OrderedJson byte_level = {
      {"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}, {"use_regex", true}};
  if (name == "gpt2") return byte_level;
  byte_level["use_regex"] = false;
  const OrderedJson split = {{"type", "Split"},
                             {"pattern", {{"Regex", regex_of_pre_tokenizer(name)}}},
                             {"behavior", "Isolated"},
                             {"invert", false}};
  return {{"type", "Sequence"}, {"pretokenizers", OrderedJson::array({split, byte_level})}};
}

bool has_byte_level(const Json& json) {
  if (!json.is_object()) return false;
  if (is_of_type(json, "ByteLevel")) return true;
  for (const char* list : {"pretokenizers", "normalizers"}) {
    if (!json.contains(list) || !json[list].is_array()) continue;
    for (const Json& item : json[list]) {
      if (is_of_type(item, "ByteLevel")) return true;
    }
  }
  return false;
}

}  // namespace owlet
