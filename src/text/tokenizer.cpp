#include "text/tokenizer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/error.hpp"
#include "text/added_tokens.hpp"
#include "text/bpe_encoder.hpp"
#include "text/byte_alphabet.hpp"
#include "text/pre_tokenizer.hpp"

namespace owlet {

namespace {

// The largest id accepted; ids come from files, and tables are sized by them.
constexpr int32_t kMaxTokenId = (1 << 22) - 1;

int32_t checked_vocab_size(const TokenizerDefinition& definition) {
  check(definition.vocab.size() <= size_t{kMaxTokenId} + 1, ErrorKind::corrupt_file,
        "the vocabulary has ids up to {}, the largest allowed is {}", definition.vocab.size() - 1, kMaxTokenId);
  auto size = static_cast<int32_t>(definition.vocab.size());
  std::vector<int32_t> ids;
  for (const AddedToken& token : definition.added_tokens) {
    check(!token.content.empty(), ErrorKind::corrupt_file, "the added token with id {} is empty", token.id);
    check(token.id >= 0 && token.id <= kMaxTokenId, ErrorKind::corrupt_file,
          "added token '{}' has id {}, allowed is 0 to {}", token.content, token.id, kMaxTokenId);
    ids.push_back(token.id);
    size = std::max(size, token.id + 1);
  }
  std::sort(ids.begin(), ids.end());
  const auto twice = std::adjacent_find(ids.begin(), ids.end());
  check(twice == ids.end(), ErrorKind::corrupt_file, "two added tokens have the id {}",
        twice == ids.end() ? 0 : *twice);
  return size;
}

// FNV-1a over a sequence of numbers and length-prefixed strings.
class Fingerprint {
 public:
  void add(uint64_t number) {
    for (int i = 0; i < 8; ++i) add_byte(static_cast<uint8_t>(number >> (8 * i)));
  }
  void add(std::string_view text) {
    add(uint64_t{text.size()});
    for (const char byte : text) add_byte(static_cast<uint8_t>(byte));
  }
  uint64_t value() const { return mix_bits(hash_); }

 private:
  void add_byte(uint8_t byte) { hash_ = (hash_ ^ byte) * 0x100000001B3u; }
  uint64_t hash_ = 0xCBF29CE484222325u;
};

}  // namespace

struct Tokenizer::State {
  explicit State(TokenizerDefinition given)
      : definition(std::move(given)),
        vocab_size(checked_vocab_size(definition)),
        splitter(make_pre_tokenizer(definition.splitter)),
        encoder(definition),
        matcher(definition.added_tokens) {
    set_token_bytes();
    set_end_of_text();
    set_fingerprint();
  }

  void set_token_bytes();
  void set_end_of_text();
  void set_fingerprint();
  void encode_plain(std::string_view text, std::vector<int32_t>& ids) const;

  TokenizerDefinition definition;
  int32_t vocab_size;
  std::unique_ptr<PreTokenizer> splitter;
  BpeEncoder encoder;
  AddedTokenMatcher matcher;
  std::vector<std::string> token_bytes;  // by id; for special tokens the content
  std::vector<bool> is_special;          // by id
  std::optional<int32_t> end_of_text_id;
  uint64_t fingerprint = 0;
};

void Tokenizer::State::set_token_bytes() {
  token_bytes.resize(static_cast<size_t>(vocab_size));
  is_special.resize(static_cast<size_t>(vocab_size));
  for (size_t id = 0; id < definition.vocab.size(); ++id) {
    const std::string& spelled = definition.vocab[id];
    token_bytes[id] = unspell_bytes(spelled).value_or(spelled);
  }
  for (const AddedToken& token : definition.added_tokens) {
    token_bytes[static_cast<size_t>(token.id)] = token.content;
    is_special[static_cast<size_t>(token.id)] = token.is_special;
  }
}

void Tokenizer::State::set_end_of_text() {
  const bool is_given = !definition.end_of_text.empty();
  const std::string_view wanted = is_given ? std::string_view(definition.end_of_text) : kEndOfText;
  for (const AddedToken& token : definition.added_tokens) {
    if (token.content == wanted) end_of_text_id = token.id;
  }
  check(!is_given || end_of_text_id.has_value(), ErrorKind::corrupt_file,
        "the end-of-text token '{}' is not among the {} added tokens", wanted, definition.added_tokens.size());
}

void Tokenizer::State::set_fingerprint() {
  Fingerprint hash;
  hash.add(definition.splitter);
  hash.add(uint64_t{definition.ignores_merges});
  std::vector<const AddedToken*> added(static_cast<size_t>(vocab_size));
  for (const AddedToken& token : definition.added_tokens) added[static_cast<size_t>(token.id)] = &token;
  for (size_t id = 0; id < added.size(); ++id) {
    if (const AddedToken* token = added[id]) {
      hash.add(token->content);
      hash.add(uint64_t{1} | uint64_t{token->is_special} << 1 | uint64_t{token->is_single_word} << 2 |
               uint64_t{token->strips_left} << 3 | uint64_t{token->strips_right} << 4);
    } else {
      hash.add(id < definition.vocab.size() ? std::string_view(definition.vocab[id]) : std::string_view());
      hash.add(uint64_t{0});
    }
  }
  for (const auto& [left, right] : definition.merges) {
    hash.add(uint64_t{static_cast<uint32_t>(left)} << 32 | static_cast<uint32_t>(right));
  }
  fingerprint = hash.value();
}

void Tokenizer::State::encode_plain(std::string_view text, std::vector<int32_t>& ids) const {
  if (definition.merges.empty() && !definition.ignores_merges) {
    encoder.encode_bytes(text, ids);  // words make no difference
    return;
  }
  splitter->split(text, [this, &ids](std::string_view word) { encoder.encode_word(word, ids); });
}

Tokenizer::Tokenizer(TokenizerDefinition definition) : state_(std::make_shared<const State>(std::move(definition))) {}

std::vector<int32_t> Tokenizer::encode(std::string_view text, bool parse_special) const {
  std::vector<int32_t> ids;
  ids.reserve(text.size() / 3 + 8);
  encode_append(text, ids, parse_special);
  return ids;
}

void Tokenizer::encode_append(std::string_view text, std::vector<int32_t>& ids, bool parse_special) const {
  if (!state_->matcher.can_match(parse_special)) {
    state_->encode_plain(text, ids);
    return;
  }
  for (const TextPiece& piece : state_->matcher.split(text, parse_special)) {
    if (piece.id >= 0) {
      ids.push_back(piece.id);
    } else {
      state_->encode_plain(piece.text, ids);
    }
  }
}

std::string Tokenizer::decode(std::span<const int32_t> ids, bool skip_special) const {
  std::string text;
  text.reserve(ids.size() * 4);
  for (const int32_t id : ids) {
    if (id < 0 || id >= state_->vocab_size || (skip_special && is_special(id))) continue;
    text += state_->token_bytes[static_cast<size_t>(id)];
  }
  return text;
}

std::string_view Tokenizer::token_bytes(int32_t id) const {
  if (id < 0 || id >= state_->vocab_size || is_special(id)) return {};
  return state_->token_bytes[static_cast<size_t>(id)];
}

int32_t Tokenizer::vocab_size() const { return state_->vocab_size; }

std::optional<int32_t> Tokenizer::end_of_text_id() const { return state_->end_of_text_id; }

std::optional<int32_t> Tokenizer::begin_id() const {
  const auto begin = added_token_id(state_->definition.begin_of_text);
  return begin ? begin : end_of_text_id();
}

std::vector<int32_t> Tokenizer::end_ids() const {
  std::vector<int32_t> ids;
  for (const auto& id : {added_token_id(state_->definition.end_of_turn), end_of_text_id()}) {
    if (id) ids.push_back(*id);
  }
  return ids;
}

bool Tokenizer::is_special(int32_t id) const {
  return id >= 0 && id < state_->vocab_size && state_->is_special[static_cast<size_t>(id)];
}

std::optional<int32_t> Tokenizer::added_token_id(std::string_view content) const {
  for (const AddedToken& token : state_->definition.added_tokens) {
    if (token.content == content) return token.id;
  }
  return std::nullopt;
}

std::span<const AddedToken> Tokenizer::added_tokens() const { return state_->definition.added_tokens; }

std::string Tokenizer::name() const {
  static const uint64_t byte_fingerprint = byte_tokenizer().fingerprint();
  return fingerprint() == byte_fingerprint ? "bytes" : fmt::format("bpe-{}", vocab_size());
}

uint64_t Tokenizer::fingerprint() const { return state_->fingerprint; }

const TokenizerDefinition& Tokenizer::definition() const { return state_->definition; }

Tokenizer byte_tokenizer() {
  TokenizerDefinition definition;
  for (int byte = 0; byte < 256; ++byte) {
    const char bytes[1] = {static_cast<char>(byte)};
    definition.vocab.push_back(spell_bytes({bytes, 1}));
  }
  definition.added_tokens.push_back({.content = std::string(kEndOfText), .id = 256});
  return Tokenizer(std::move(definition));
}

}  // namespace owlet
