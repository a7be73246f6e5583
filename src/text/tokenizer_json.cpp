// Reading and writing tokenizer.json, and reading GPT-2's vocabulary and merges.
#include <algorithm>
#include <cstdint>
#include <unordered_map>

#include "base/error.hpp"
#include "base/json.hpp"
#include "text/pre_tokenizer.hpp"
#include "text/tokenizer_files.hpp"

namespace owlet {

namespace {

constexpr int64_t kMaxTokenId = (1 << 22) - 1;

// One JSON object of the file with its name in it, for messages such as "a/tokenizer.json: model.dropout is 0.1".
class Section {
 public:
  Section(const Json& json, std::string source, std::string name)
      : json_(json), source_(std::move(source)), name_(std::move(name)) {
    check(json.is_object(), ErrorKind::corrupt_file, "{}: {} is of type {}, expected an object", source_,
          name_.empty() ? "the document" : name_, json.type_name());
  }

  std::string path_of(const std::string& key) const { return name_.empty() ? key : name_ + "." + key; }
  const std::string& source() const { return source_; }

  /// The member, or null where it is missing.
  const Json& operator[](const std::string& key) const {
    static const Json null;
    const auto found = json_.find(key);
    return found == json_.end() ? null : *found;
  }

  bool flag(const std::string& key, bool fallback) const {
    const Json& value = (*this)[key];
    if (value.is_null()) return fallback;
    check(value.is_boolean(), ErrorKind::corrupt_file, "{}: {} is of type {}, expected true or false", source_,
          path_of(key), value.type_name());
    return value.get<bool>();
  }

  std::string text(const std::string& key) const {
    const Json& value = (*this)[key];
    check(value.is_string(), ErrorKind::corrupt_file, "{}: {} is of type {}, expected a string", source_, path_of(key),
          value.type_name());
    return value.get<std::string>();
  }

  int32_t token_id(const std::string& key) const {
    const Json& value = (*this)[key];
    const bool is_id = value.is_number_integer() && value >= 0 && value <= kMaxTokenId;
    check(is_id, ErrorKind::corrupt_file, "{}: {} is {}, expected an id from 0 to {}", source_, path_of(key),
          value.dump(), kMaxTokenId);
    return value.get<int32_t>();
  }

  [[noreturn]] void refuse(const std::string& key) const {
    std::string value = dump_json((*this)[key]);
    if (value.size() > 200) value = value.substr(0, 200) + "…";
    fail(ErrorKind::unsupported, "{}: {} is {}, which is not supported", source_, path_of(key), value);
  }
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

bool is_of_type(const Json& value, std::string_view type) {
  return value.is_object() && value.contains("type") && value["type"] == type;
}

std::vector<std::string> parse_vocab(const Json& json, const std::string& source, const std::string& name) {
  check(json.is_object(), ErrorKind::corrupt_file, "{}: {} is of type {}, expected an object", source, name,
        json.type_name());
  const Section section(json, source, name);
  std::vector<std::string> vocab;
  for (const auto& [token, unused] : json.items()) {
    const auto id = static_cast<size_t>(section.token_id(token));
    check(!token.empty(), ErrorKind::corrupt_file, "{}: {} has an empty token with id {}", source, name, id);
    if (id >= vocab.size()) vocab.resize(id + 1);
    check(vocab[id].empty(), ErrorKind::corrupt_file, "{}: {} gives the id {} to '{}' and to '{}'", source, name, id,
          vocab[id], token);
    vocab[id] = token;
  }
  return vocab;
}

// Looks up the two halves of merges by their spelling.
class MergeParser {
 public:
  MergeParser(const std::vector<std::string>& vocab, std::string source) : source_(std::move(source)) {
    for (size_t id = 0; id < vocab.size(); ++id) {
      if (!vocab[id].empty()) ids_.emplace(vocab[id], static_cast<int32_t>(id));
    }
  }

  std::pair<int32_t, int32_t> from_pair(std::string_view left, std::string_view right, size_t rank) const {
    return {id_of(left, rank), id_of(right, rank)};
  }

  /// "a b". Tokens may hold spaces: then the one place to cut counts where all three tokens exist.
  std::pair<int32_t, int32_t> from_text(std::string_view text, size_t rank) const {
    size_t cut = std::string_view::npos, num_cuts = 0;
    const size_t num_spaces = static_cast<size_t>(std::count(text.begin(), text.end(), ' '));
    for (size_t at = text.find(' '); at != std::string_view::npos; at = text.find(' ', at + 1)) {
      const std::string_view left = text.substr(0, at), right = text.substr(at + 1);
      const bool fits = num_spaces == 1 || (find(left) && find(right) && find(std::string(left) + std::string(right)));
      if (fits) {
        cut = at;
        ++num_cuts;
      }
    }
    check(num_cuts == 1, ErrorKind::corrupt_file,
          "{}: merge {} is '{}', which can be cut into two tokens in {} ways, expected 1", source_, rank, text,
          num_cuts);
    return from_pair(text.substr(0, cut), text.substr(cut + 1), rank);
  }

 private:
  const int32_t* find(std::string_view token) const {
    const auto found = ids_.find(std::string(token));
    return found == ids_.end() ? nullptr : &found->second;
  }
  int32_t id_of(std::string_view token, size_t rank) const {
    const int32_t* id = find(token);
    check(id != nullptr, ErrorKind::corrupt_file, "{}: merge {} names '{}', which is not in the vocabulary", source_,
          rank, token);
    return *id;
  }

  std::string source_;
  std::unordered_map<std::string, int32_t> ids_;
};

std::vector<std::pair<int32_t, int32_t>> parse_merges(const Section& model, const std::vector<std::string>& vocab) {
  const Json& list = model["merges"];
  check(list.is_array(), ErrorKind::corrupt_file, "{}: model.merges is of type {}, expected an array", model.source(),
        list.type_name());
  const MergeParser parser(vocab, model.source());
  std::vector<std::pair<int32_t, int32_t>> merges;
  merges.reserve(list.size());
  for (const Json& merge : list) {
    const size_t rank = merges.size();
    if (merge.is_string()) {
      merges.push_back(parser.from_text(merge.get_ref<const std::string&>(), rank));
      continue;
    }
    check(merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string(),
          ErrorKind::corrupt_file, "{}: merge {} is {}, expected \"a b\" or [\"a\", \"b\"]", model.source(), rank,
          merge.dump());
    merges.push_back(
        parser.from_pair(merge[0].get_ref<const std::string&>(), merge[1].get_ref<const std::string&>(), rank));
  }
  return merges;
}

void parse_model(const Section& model, TokenizerDefinition& definition) {
  const auto is_empty_text = [](const Json& value) { return value.is_string() && value.get<std::string>().empty(); };
  model.refuse_unless("type", [](const Json& value) { return value == "BPE"; });
  model.refuse_unless("dropout", [](const Json& value) { return value == 0.0; });
  model.refuse_unless("continuing_subword_prefix", is_empty_text);
  model.refuse_unless("end_of_word_suffix", is_empty_text);
  if (model.flag("byte_fallback", false)) model.refuse("byte_fallback");
  definition.ignores_merges = model.flag("ignore_merges", false);
  definition.vocab = parse_vocab(model["vocab"], model.source(), "model.vocab");
  definition.merges = parse_merges(model, definition.vocab);
}

void require_byte_level(const Json& json, const std::string& source, const std::string& name, bool uses_regex) {
  const Section section(json, source, name);
  if (!is_of_type(json, "ByteLevel")) section.refuse("type");
  if (section.flag("add_prefix_space", true)) {  // true is the default of the format
    fail(ErrorKind::unsupported, "{}: {} is true, which is not supported", source, section.path_of("add_prefix_space"));
  }
  if (section.flag("use_regex", true) != uses_regex) {
    fail(ErrorKind::unsupported, "{}: {} is {}, only {} is supported here", source, section.path_of("use_regex"),
         !uses_regex, uses_regex);
  }
}

std::string parse_split(const Section& split) {
  split.refuse_unless("behavior", [](const Json& value) { return value == "Isolated"; });
  if (split.flag("invert", false)) split.refuse("invert");
  const Json& pattern = split["pattern"];
  if (!pattern.is_object() || !pattern.contains("Regex") || !pattern["Regex"].is_string()) split.refuse("pattern");
  const std::string_view name = pre_tokenizer_for_regex(pattern["Regex"].get_ref<const std::string&>());
  if (name.empty()) split.refuse("pattern");
  return std::string(name);
}

// The splitter's name for the pre_tokenizer section.
std::string parse_pre_tokenizer(const Section& document) {
  const std::string& source = document.source();
  const Json& json = document["pre_tokenizer"];
  if (is_of_type(json, "ByteLevel")) {
    require_byte_level(json, source, "pre_tokenizer", true);
    return "gpt2";
  }
  if (!is_of_type(json, "Sequence")) document.refuse("pre_tokenizer");
  const Json& steps = Section(json, source, "pre_tokenizer")["pretokenizers"];
  const bool is_split_then_bytes = steps.is_array() && steps.size() == 2 && is_of_type(steps[0], "Split");
  if (!is_split_then_bytes) document.refuse("pre_tokenizer");
  require_byte_level(steps[1], source, "pre_tokenizer.pretokenizers[1]", false);
  return parse_split(Section(steps[0], source, "pre_tokenizer.pretokenizers[0]"));
}

std::vector<AddedToken> parse_added_tokens(const Section& document) {
  const Json& list = document["added_tokens"];
  if (list.is_null()) return {};
  check(list.is_array(), ErrorKind::corrupt_file, "{}: added_tokens is of type {}, expected an array",
        document.source(), list.type_name());
  std::vector<AddedToken> tokens;
  for (const Json& json : list) {
    const Section entry(json, document.source(), fmt::format("added_tokens[{}]", tokens.size()));
    tokens.push_back({.content = entry.text("content"),
                      .id = entry.token_id("id"),
                      .is_special = entry.flag("special", false),
                      .is_single_word = entry.flag("single_word", false),
                      .strips_left = entry.flag("lstrip", false),
                      .strips_right = entry.flag("rstrip", false),
                      .is_normalized = entry.flag("normalized", !entry.flag("special", false))});
  }
  return tokens;
}

OrderedJson added_tokens_json(const TokenizerDefinition& definition) {
  OrderedJson list = OrderedJson::array();
  for (const AddedToken& token : definition.added_tokens) {
    list.push_back({{"id", token.id},
                    {"content", token.content},
                    {"single_word", token.is_single_word},
                    {"lstrip", token.strips_left},
                    {"rstrip", token.strips_right},
                    {"normalized", token.is_normalized},
                    {"special", token.is_special}});
  }
  return list;
}

OrderedJson model_json(const TokenizerDefinition& definition) {
  OrderedJson vocab = OrderedJson::object(), merges = OrderedJson::array();
  auto& entries = vocab.get_ref<OrderedJson::object_t&>();
  for (size_t id = 0; id < definition.vocab.size(); ++id) {
    // Appended directly: the ordered object looks through all keys on each insertion, and tokens differ anyway.
    if (!definition.vocab[id].empty()) entries.OrderedJson::object_t::Container::emplace_back(definition.vocab[id], id);
  }
  const auto spelling = [&](int32_t id) -> const std::string& { return definition.vocab.at(static_cast<size_t>(id)); };
  const bool has_space = std::any_of(definition.vocab.begin(), definition.vocab.end(),
                                     [](const std::string& token) { return token.find(' ') != std::string::npos; });
  for (const auto& [left, right] : definition.merges) {
    // Old versions of `tokenizers` read the string form only; it cannot hold tokens with a space.
    if (has_space) {
      merges.push_back({spelling(left), spelling(right)});
    } else {
      merges.push_back(spelling(left) + " " + spelling(right));
    }
  }
  return {{"type", "BPE"},
          {"dropout", nullptr},
          {"unk_token", nullptr},
          {"continuing_subword_prefix", nullptr},
          {"end_of_word_suffix", nullptr},
          {"fuse_unk", false},
          {"byte_fallback", false},
          {"ignore_merges", definition.ignores_merges},
          {"vocab", std::move(vocab)},
          {"merges", std::move(merges)}};
}

}  // namespace

TokenizerDefinition parse_tokenizer_json(std::string_view text, const std::string& source) {
  const Json json = parse_json(text, source);
  const Section document(json, source, "");
  const auto is_byte_level = [](const Json& value) { return is_of_type(value, "ByteLevel"); };
  document.refuse_unless("normalizer", [](const Json&) { return false; });
  document.refuse_unless("post_processor", is_byte_level);
  document.refuse_unless("decoder", is_byte_level);
  TokenizerDefinition definition;
  definition.splitter = parse_pre_tokenizer(document);
  parse_model(Section(document["model"], source, "model"), definition);
  definition.added_tokens = parse_added_tokens(document);
  return definition;
}

TokenizerDefinition parse_gpt2_files(std::string_view vocab_json, std::string_view merges, const std::string& source) {
  TokenizerDefinition definition;
  definition.vocab = parse_vocab(parse_json(vocab_json, source), source, "the vocabulary");
  const MergeParser parser(definition.vocab, source);
  for (size_t begin = 0; begin < merges.size();) {
    const size_t end = std::min(merges.find('\n', begin), merges.size());
    std::string_view line = merges.substr(begin, end - begin);
    if (line.ends_with('\r')) line.remove_suffix(1);
    begin = end + 1;
    if (line.empty() || line.starts_with("#version")) continue;
    definition.merges.push_back(parser.from_text(line, definition.merges.size()));
  }
  const auto found = std::find(definition.vocab.begin(), definition.vocab.end(), kEndOfText);
  if (found != definition.vocab.end()) {
    definition.added_tokens.push_back(
        {.content = std::string(kEndOfText), .id = static_cast<int32_t>(found - definition.vocab.begin())});
  }
  return definition;
}

std::string format_tokenizer_json(const TokenizerDefinition& definition) {
  const OrderedJson byte_level = {
      {"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}, {"use_regex", true}};
  const OrderedJson document = {{"version", "1.0"},
                                {"truncation", nullptr},
                                {"padding", nullptr},
                                {"added_tokens", added_tokens_json(definition)},
                                {"normalizer", nullptr},
                                {"pre_tokenizer", byte_level},
                                {"post_processor", nullptr},
                                {"decoder", byte_level},
                                {"model", model_json(definition)}};
  return dump_json(document, 2) + "\n";
}

std::string format_tokenizer_config(const TokenizerDefinition& definition, std::string_view end_of_text,
                                    int64_t model_max_length_tokens) {
  OrderedJson config = {{"tokenizer_class", "PreTrainedTokenizerFast"},
                        {"add_prefix_space", false},
                        {"clean_up_tokenization_spaces", false}};
  const std::string_view bos = definition.begin_of_text.empty() ? end_of_text : definition.begin_of_text;
  const std::string_view eos = definition.end_of_turn.empty() ? end_of_text : definition.end_of_turn;
  if (!bos.empty()) config["bos_token"] = bos;
  if (!eos.empty()) config["eos_token"] = eos;
  if (eos != end_of_text) config[kDocumentSeparatorKey] = end_of_text;
  if (!definition.chat_template.empty()) config["chat_template"] = definition.chat_template;
  if (model_max_length_tokens > 0) config["model_max_length"] = model_max_length_tokens;
  return dump_json(config, 2) + "\n";
}

}  // namespace owlet
