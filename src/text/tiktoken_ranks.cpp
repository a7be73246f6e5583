#include "text/tiktoken_ranks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <unordered_map>

#include "base/base64.hpp"
#include "base/error.hpp"
#include "text/byte_alphabet.hpp"
#include "text/lines.hpp"
#include "text/pre_tokenizer.hpp"

namespace owlet {

namespace {

constexpr int32_t kMostTokens = 1 << 24;

struct SpecialToken {
  std::string content;
  int32_t id = 0;
};

/// A published vocabulary, recognised by the number of its ranks.
struct KnownVocabulary {
  size_t num_ranks = 0;
  std::string splitter;
  std::vector<SpecialToken> special_tokens;
  std::string begin_of_text, end_of_text, end_of_turn;
};

/// Llama 3's 256 special tokens, reserved ones between the named ones.
std::vector<SpecialToken> llama3_special_tokens() {
  constexpr int32_t kFirst = 128000, kCount = 256;
  std::vector<SpecialToken> tokens;
  int num_reserved = 0;
  for (int32_t id = kFirst; id < kFirst + kCount; ++id) {
    switch (id - kFirst) {
      case 0:
        tokens.push_back({"<|begin_of_text|>", id});
        break;
      case 1:
        tokens.push_back({"<|end_of_text|>", id});
        break;
      case 6:
        tokens.push_back({"<|start_header_id|>", id});
        break;
      case 7:
        tokens.push_back({"<|end_header_id|>", id});
        break;
      case 9:
        tokens.push_back({"<|eot_id|>", id});
        break;
      default:
        tokens.push_back({fmt::format("<|reserved_special_token_{}|>", num_reserved++), id});
    }
  }
  return tokens;
}

const std::vector<KnownVocabulary>& known_vocabularies() {
  const std::string end(kEndOfText);
  static const std::vector<KnownVocabulary> list = {
      {50256, "gpt2", {{end, 50256}}, "", end, ""},
      {50280, "gpt2", {{end, 50256}}, "", end, ""},
      {100256,
       "cl100k",
       {{end, 100257},
        {"<|fim_prefix|>", 100258},
        {"<|fim_middle|>", 100259},
        {"<|fim_suffix|>", 100260},
        {"<|endofprompt|>", 100276}},
       "",
       end,
       ""},
      {199998, "o200k", {{end, 199999}, {"<|endofprompt|>", 200018}}, "", end, ""},
      {128000, "llama3", llama3_special_tokens(), "<|begin_of_text|>", "<|end_of_text|>", "<|eot_id|>"},
      {151643, "qwen2", {{end, 151643}, {"<|im_start|>", 151644}, {"<|im_end|>", 151645}}, "", end, "<|im_end|>"},
  };
  return list;
}

struct Rank {
  std::string bytes;
  int32_t rank = 0;
};

/// Nothing where the line is not "Base64 number".
std::optional<Rank> parse_line(std::string_view line) {
  const size_t space = line.find(' ');
  if (space == std::string_view::npos) return std::nullopt;
  const std::string_view digits = line.substr(space + 1);
  std::optional<std::string> bytes = decode_base64(line.substr(0, space));
  Rank result;
  const auto [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), result.rank);
  const bool is_number = problem == std::errc() && end == digits.data() + digits.size();
  if (!bytes || bytes->empty() || !is_number || result.rank < 0 || result.rank >= kMostTokens) return std::nullopt;
  result.bytes = std::move(*bytes);
  return result;
}

/// Token bytes by id; empty where no token has that id.
std::vector<std::string> parse_ranks(std::string_view text, const std::string& source, size_t& num_ranks) {
  std::vector<std::string> tokens;
  for_each_line(text, [&](std::string_view line, size_t number) {
    std::optional<Rank> rank = parse_line(line);
    check(rank.has_value(), ErrorKind::corrupt_file, "{}: line {} is '{}', expected a token in Base64, a space, a rank",
          source, number, line.substr(0, 60));
    const auto id = static_cast<size_t>(rank->rank);
    if (tokens.size() <= id) tokens.resize(id + 1);
    check(tokens[id].empty(), ErrorKind::corrupt_file, "{}: line {} gives rank {} a second time", source, number, id);
    tokens[id] = std::move(rank->bytes);
    ++num_ranks;
  });
  check(num_ranks > 0, ErrorKind::corrupt_file, "{}: holds no token", source);
  return tokens;
}

/// Every way to make a token of two others, in the order of ranks. Where one token can be made in several ways, those
/// of lower ranks come first.
std::vector<std::pair<int32_t, int32_t>> merges_of(const std::vector<std::string>& tokens, const std::string& source) {
  std::unordered_map<std::string_view, int32_t> ids;
  ids.reserve(tokens.size());
  for (size_t id = 0; id < tokens.size(); ++id) {
    if (tokens[id].empty()) continue;
    const auto [place, is_new] = ids.emplace(tokens[id], static_cast<int32_t>(id));
    check(is_new, ErrorKind::corrupt_file, "{}: ranks {} and {} are the same token", source, place->second, id);
  }
  std::vector<std::pair<int32_t, int32_t>> merges, ways;
  for (const std::string& token : tokens) {
    ways.clear();
    for (size_t cut = 1; cut < token.size(); ++cut) {
      const auto left = ids.find(std::string_view(token).substr(0, cut));
      if (left == ids.end()) continue;
      const auto right = ids.find(std::string_view(token).substr(cut));
      if (right != ids.end()) ways.emplace_back(left->second, right->second);
    }
    std::sort(ways.begin(), ways.end());
    merges.insert(merges.end(), ways.begin(), ways.end());
  }
  return merges;
}

void add_special_token(TokenizerDefinition& definition, const std::string& content, int32_t id,
                       const std::string& source) {
  const auto index = static_cast<size_t>(id);
  if (definition.vocab.size() <= index) definition.vocab.resize(index + 1);
  check(definition.vocab[index].empty(), ErrorKind::corrupt_file, "{}: rank {} is that of the special token '{}'",
        source, id, content);
  definition.vocab[index] = content;
  definition.added_tokens.push_back({.content = content, .id = id});
}

const KnownVocabulary* known_vocabulary(size_t num_ranks) {
  const auto& list = known_vocabularies();
  const auto found = std::ranges::find(list, num_ranks, &KnownVocabulary::num_ranks);
  return found == list.end() ? nullptr : &*found;
}

}  // namespace

bool is_tiktoken_ranks(std::string_view text) {
  std::string_view line = text.substr(0, std::min(text.find('\n'), size_t{4096}));
  if (line.ends_with('\r')) line.remove_suffix(1);
  return parse_line(line).has_value();
}

TokenizerDefinition parse_tiktoken_ranks(std::string_view text, const std::string& source,
                                         const TiktokenOptions& options) {
  size_t num_ranks = 0;
  const std::vector<std::string> tokens = parse_ranks(text, source, num_ranks);
  const KnownVocabulary* known = known_vocabulary(num_ranks);
  if (known == nullptr && options.splitter.empty()) {
    throw Error(
        ErrorKind::invalid_argument,
        fmt::format("{}: a vocabulary of {} ranks is not known, and the file does not say how text is split into "
                    "words",
                    source, num_ranks),
        fmt::format("name the splitter with --splitter: {}", fmt::join(pre_tokenizer_names(), ", ")));
  }
  TokenizerDefinition definition;
  definition.splitter = options.splitter.empty() ? known->splitter : options.splitter;
  // tiktoken looks for whole words before it merges.
  definition.ignores_merges = true;
  definition.merges = merges_of(tokens, source);
  for (const std::string& token : tokens) definition.vocab.push_back(token.empty() ? "" : spell_bytes(token));
  if (!options.special_tokens.empty() || known == nullptr) {
    std::vector<std::string> contents = options.special_tokens;
    if (contents.empty()) contents.emplace_back(kEndOfText);
    for (const std::string& content : contents) {
      add_special_token(definition, content, static_cast<int32_t>(definition.vocab.size()), source);
    }
    return definition;
  }
  for (const SpecialToken& token : known->special_tokens) {
    add_special_token(definition, token.content, token.id, source);
  }
  definition.begin_of_text = known->begin_of_text;
  definition.end_of_text = known->end_of_text;
  definition.end_of_turn = known->end_of_turn;
  return definition;
}

}  // namespace owlet
