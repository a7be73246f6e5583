// Reading and writing tokenizer.json, and reading GPT-2's vocabulary and merges.
#include <algorithm>
#include <cstdint>
#include <unordered_map>

#include "text/decoder.hpp"
#include "text/json_section.hpp"
#include "text/lines.hpp"
#include "text/normalizer.hpp"
#include "text/post_processor.hpp"
#include "text/pre_tokenizer_json.hpp"
#include "text/tokenizer_files.hpp"

namespace owlet {

namespace {

std::vector<std::string> parse_vocab(const Json& json, const std::string& source, const std::string& name) {
  check(json.is_object(), ErrorKind::corrupt_file, "{}: {} is of type {}, expected an object", source, name,
        json.type_name());
  const JsonSection section(json, source, name);
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
  MergeParser(const TokenizerDefinition& definition, std::string source)
      : source_(std::move(source)), prefix_bytes_(definition.continuing_prefix.size()) {
    const std::vector<std::string>& vocab = definition.vocab;
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
      const bool fits = num_spaces == 1 || (find(left) && find(right) && find(merged(left, right)));
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
  std::string merged(std::string_view left, std::string_view right) const {
    return std::string(left) + std::string(right.substr(std::min(prefix_bytes_, right.size())));
  }
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
  size_t prefix_bytes_;
  std::unordered_map<std::string, int32_t> ids_;
};

std::vector<std::pair<int32_t, int32_t>> parse_merges(const JsonSection& model, const TokenizerDefinition& definition) {
  const Json& list = model["merges"];
  check(list.is_array(), ErrorKind::corrupt_file, "{}: model.merges is of type {}, expected an array", model.source(),
        list.type_name());
  const MergeParser parser(definition, model.source());
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

void parse_model(const JsonSection& model, TokenizerDefinition& definition) {
  model.refuse_unless("dropout", [](const Json& value) { return value == 0.0; });
  definition.continuing_prefix = model.text_or_empty("continuing_subword_prefix");
  definition.word_suffix = model.text_or_empty("end_of_word_suffix");
  definition.unknown_token = model.text_or_empty("unk_token");
  definition.fuses_unknown = model.flag("fuse_unk", false);
  definition.falls_back_to_bytes = model.flag("byte_fallback", false);
  definition.ignores_merges = model.flag("ignore_merges", false);
  definition.vocab = parse_vocab(model["vocab"], model.source(), "model.vocab");
  definition.merges = parse_merges(model, definition);
}

// The splitter by its name where it has one, otherwise the section as it stands.
void parse_pre_tokenizer(const JsonSection& document, TokenizerDefinition& definition) {
  const Json& json = document["pre_tokenizer"];
  definition.is_byte_level = has_byte_level(json);
  const std::string_view name = named_pre_tokenizer_of(json);
  if (!name.empty()) {
    definition.splitter = name;
    return;
  }
  make_pre_tokenizer_from_json(json, document.source(), "pre_tokenizer");
  definition.splitter = kCustomSplitter;
  definition.pre_tokenizer = dump_json(json);
}

void parse_decoder(const JsonSection& document, TokenizerDefinition& definition) {
  const Json& json = document["decoder"];
  const bool is_byte_level = is_of_type(json, "ByteLevel") || (json.is_null() && definition.is_byte_level);
  if (is_byte_level) return;
  Decoder(json, document.source(), "decoder");
  definition.decoder = dump_json(json);
}

std::vector<AddedToken> parse_added_tokens(const JsonSection& document) {
  const Json& list = document["added_tokens"];
  if (list.is_null()) return {};
  check(list.is_array(), ErrorKind::corrupt_file, "{}: added_tokens is of type {}, expected an array",
        document.source(), list.type_name());
  std::vector<AddedToken> tokens;
  for (const Json& json : list) {
    const JsonSection entry(json, document.source(), fmt::format("added_tokens[{}]", tokens.size()));
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
  const auto text_or_null = [](const std::string& value) { return value.empty() ? OrderedJson() : OrderedJson(value); };
  return {{"type", "BPE"},
          {"dropout", nullptr},
          {"unk_token", text_or_null(definition.unknown_token)},
          {"continuing_subword_prefix", text_or_null(definition.continuing_prefix)},
          {"end_of_word_suffix", text_or_null(definition.word_suffix)},
          {"fuse_unk", definition.fuses_unknown},
          {"byte_fallback", definition.falls_back_to_bytes},
          {"ignore_merges", definition.ignores_merges},
          {"vocab", std::move(vocab)},
          {"merges", std::move(merges)}};
}

}  // namespace

TokenizerDefinition parse_tokenizer_json(std::string_view text, const std::string& source) {
  return tokenizer_of_json(parse_json(text, source), source);
}

TokenizerDefinition tokenizer_of_json(const Json& json, const std::string& source) {
  const JsonSection document(json, source, "");
  document.section("model").refuse_unless("type", [](const Json& value) { return value == "BPE"; });
  TokenizerDefinition definition;
  if (make_normalizer(document["normalizer"], source, "normalizer"))
    definition.normalizer = dump_json(document["normalizer"]);
  parse_pre_tokenizer(document, definition);
  parse_decoder(document, definition);
  const TokenFrame frame = parse_post_processor(document["post_processor"], source, "post_processor");
  if (!frame.before.empty() || !frame.after.empty()) definition.post_processor = dump_json(document["post_processor"]);
  parse_model(document.section("model"), definition);
  definition.added_tokens = parse_added_tokens(document);
  return definition;
}

TokenizerDefinition parse_gpt2_files(std::string_view vocab_json, std::string_view merges, const std::string& source) {
  TokenizerDefinition definition;
  definition.vocab = parse_vocab(parse_json(vocab_json, source), source, "the vocabulary");
  const MergeParser parser(definition, source);
  for_each_line(merges, [&](std::string_view line, size_t) {
    if (!line.starts_with("#version")) definition.merges.push_back(parser.from_text(line, definition.merges.size()));
  });
  const auto found = std::find(definition.vocab.begin(), definition.vocab.end(), kEndOfText);
  if (found != definition.vocab.end()) {
    definition.added_tokens.push_back(
        {.content = std::string(kEndOfText), .id = static_cast<int32_t>(found - definition.vocab.begin())});
  }
  return definition;
}

std::string format_tokenizer_json(const TokenizerDefinition& definition) {
  const auto section = [](const std::string& text) { return text.empty() ? OrderedJson() : OrderedJson::parse(text); };
  const bool is_custom = definition.splitter == kCustomSplitter;
  const OrderedJson document = {
      {"version", "1.0"},
      {"truncation", nullptr},
      {"padding", nullptr},
      {"added_tokens", added_tokens_json(definition)},
      {"normalizer", section(definition.normalizer)},
      {"pre_tokenizer",
       is_custom ? section(definition.pre_tokenizer) : json_of_named_pre_tokenizer(definition.splitter)},
      {"post_processor", section(definition.post_processor)},
      {"decoder", definition.decoder.empty() ? json_of_named_pre_tokenizer("gpt2") : section(definition.decoder)},
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
