#include "text/post_processor.hpp"

#include "text/json_section.hpp"

namespace owlet {

namespace {

constexpr size_t kMaxItems = 256;

const Json& checked_array(const JsonSection& section, const std::string& key) {
  const Json& list = section[key];
  check(list.is_array() && list.size() <= kMaxItems, ErrorKind::corrupt_file,
        "{}: {} is of type {} with {} items, expected an array of at most {}", section.source(), section.path_of(key),
        list.type_name(), list.size(), kMaxItems);
  return list;
}

int32_t checked_id(const Json& value, const std::string& source, const std::string& name) {
  const bool is_id = value.is_number_integer() && value >= 0 && value <= kMaxTokenId;
  check(is_id, ErrorKind::corrupt_file, "{}: {} is {}, expected an id from 0 to {}", source, name, dump_json(value),
        kMaxTokenId);
  return value.get<int32_t>();
}

// The ids of a special token of a template: special_tokens[name].ids.
std::vector<int32_t> ids_of_special(const JsonSection& section, const std::string& token) {
  const JsonSection entry = section.section("special_tokens").section(token);
  std::vector<int32_t> ids;
  for (const Json& id : checked_array(entry, "ids"))
    ids.push_back(checked_id(id, entry.source(), entry.path_of("ids")));
  return ids;
}

TokenFrame parse_template(const JsonSection& section) {
  TokenFrame frame;
  size_t num_texts = 0;
  for (const Json& json : checked_array(section, "single")) {
    const JsonSection item(json, section.source(), section.path_of("single"));
    if (!item["Sequence"].is_null()) {
      ++num_texts;
      continue;
    }
    std::vector<int32_t>& side = num_texts == 0 ? frame.before : frame.after;
    const std::vector<int32_t> ids = ids_of_special(section, item.section("SpecialToken").text("id"));
    side.insert(side.end(), ids.begin(), ids.end());
  }
  if (num_texts != 1) section.refuse("single");
  return frame;
}

// ["[SEP]", 102]
int32_t parse_pair(const JsonSection& section, const std::string& key) {
  const Json& pair = checked_array(section, key);
  check(pair.size() == 2, ErrorKind::corrupt_file, "{}: {} has {} items, expected a token and its id", section.source(),
        section.path_of(key), pair.size());
  return checked_id(pair[1], section.source(), section.path_of(key));
}

}  // namespace

TokenFrame parse_post_processor(const Json& json, const std::string& source, const std::string& name) {
  if (json.is_null()) return {};
  const JsonSection section(json, source, name);
  const std::string type = section.type();
  if (type == "ByteLevel") return {};
  if (type == "TemplateProcessing") return parse_template(section);
  if (type == "BertProcessing" || type == "RobertaProcessing")
    return {{parse_pair(section, "cls")}, {parse_pair(section, "sep")}};
  if (type != "Sequence") section.refuse("type");
  TokenFrame frame;
  for (const Json& item : checked_array(section, "processors")) {
    const std::string item_name = section.path_of("processors");
    if (is_of_type(item, "Sequence")) JsonSection(item, source, item_name).refuse("type");
    const TokenFrame outer = parse_post_processor(item, source, item_name);
    frame.before.insert(frame.before.begin(), outer.before.begin(), outer.before.end());
    frame.after.insert(frame.after.end(), outer.after.begin(), outer.after.end());
  }
  return frame;
}

}  // namespace owlet
