#include "text/tokenizer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/error.hpp"
#include "text/added_tokens.hpp"
#include "text/bpe_encoder.hpp"
#include "text/byte_alphabet.hpp"
#include "text/decoder.hpp"
#include "text/json_section.hpp"
#include "text/normalizer.hpp"
#include "text/pre_tokenizer_json.hpp"
#include "text/utf8.hpp"

namespace owlet {

namespace {

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

constexpr const char* kSource = "the tokenizer";
constexpr const char* kByteLevelJson = R"({"type": "ByteLevel"})";

// A section that a definition holds as JSON; empty is null.
Json section(const std::string& text) { return text.empty() ? Json() : parse_json(text, kSource); }

std::unique_ptr<PreTokenizer> make_splitter(const TokenizerDefinition& definition) {
  if (definition.splitter != kCustomSplitter) return make_pre_tokenizer(definition.splitter);
  return make_pre_tokenizer_from_json(section(definition.pre_tokenizer), kSource, "pre_tokenizer");
}

}  // namespace

struct Tokenizer::State {
  explicit State(TokenizerDefinition given)
      : definition(std::move(given)),
        vocab_size(checked_vocab_size(definition)),
        normalizer(make_normalizer(section(definition.normalizer), kSource, "normalizer")),
        splitter(make_splitter(definition)),
        encoder(definition),
        decoder(section(definition.decoder.empty() ? kByteLevelJson : definition.decoder), kSource, "decoder"),
        frame(parse_post_processor(section(definition.post_processor), kSource, "post_processor")),
        matcher(definition.added_tokens, [this](std::string_view text) { return normalized(text); }),
        needs_valid_utf8(!definition.is_byte_level || normalizer != nullptr || encoder.needs_valid_utf8()) {
    is_cut_safely = keeps_splitters_cuts();
    set_token_bytes();
    set_spellings();
    set_end_of_text();
    set_fingerprint();
  }

  bool keeps_splitters_cuts() const;
  void set_token_bytes();
  void set_spellings();
  void set_end_of_text();
  void set_fingerprint();
  void add_options(Fingerprint& hash) const;
  std::string normalized(std::string_view text) const {
    return normalizer ? normalizer->normalize(text) : std::string(text);
  }
  void encode(std::string_view text, bool parse_special, std::vector<int32_t>& ids) const;
  void encode_piece(std::string_view text, bool parse_special, bool is_at_start, std::vector<int32_t>& ids) const;
  void encode_plain(std::string_view text, bool is_at_start, std::vector<int32_t>& ids) const;
  std::string decode_whole(std::span<const int32_t> ids, bool skip_special) const;

  TokenizerDefinition definition;
  int32_t vocab_size;
  std::unique_ptr<Normalizer> normalizer;  // may be null
  bool is_cut_safely = false;              // the splitter's safe cuts hold for the whole tokenizer
  std::unique_ptr<PreTokenizer> splitter;
  BpeEncoder encoder;
  Decoder decoder;
  TokenFrame frame;
  AddedTokenMatcher matcher;
  bool needs_valid_utf8;
  std::vector<std::string> token_bytes;  // by id; for special tokens the content
  std::vector<std::string> spellings;    // by id, for decoders that see the whole text
  std::vector<bool> is_special;          // by id
  std::optional<int32_t> end_of_text_id;
  uint64_t fingerprint = 0;
};

/// Splitters cut before ASCII white space that follows something else. Composition (NFC) never crosses such a place;
/// other normalizers may depend on where a text begins, and added tokens may hold or swallow the white space.
bool Tokenizer::State::keeps_splitters_cuts() const {
  if (normalizer && json_get_or<std::string>(section(definition.normalizer), "type", "", kSource) != "NFC")
    return false;
  return std::none_of(definition.added_tokens.begin(), definition.added_tokens.end(), [](const AddedToken& token) {
    return !token.is_special && (token.strips_right || token.content.find_first_of(" \t\n\v\f\r") != std::string::npos);
  });
}

void Tokenizer::State::set_token_bytes() {
  token_bytes.resize(static_cast<size_t>(vocab_size));
  is_special.resize(static_cast<size_t>(vocab_size));
  for (size_t id = 0; id < definition.vocab.size(); ++id) {
    const std::string& spelled = definition.vocab[id];
    token_bytes[id] = decoder.decode_one(spelled);
  }
  for (const AddedToken& token : definition.added_tokens) {
    // Added tokens are not spelled in the alphabet; what else a decoder changes, it changes in them too.
    token_bytes[static_cast<size_t>(token.id)] =
        definition.decoder.empty() ? token.content : decoder.decode_one(token.content);
    is_special[static_cast<size_t>(token.id)] = token.is_special;
  }
}

void Tokenizer::State::set_spellings() {
  if (decoder.is_context_free()) return;
  spellings = definition.vocab;
  spellings.resize(static_cast<size_t>(vocab_size));
  for (const AddedToken& token : definition.added_tokens) spellings[static_cast<size_t>(token.id)] = token.content;
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
  add_options(hash);
  fingerprint = hash.value();
}

// What tokenizers did not have when the first data was written counts only where it is set.
void Tokenizer::State::add_options(Fingerprint& hash) const {
  const TokenizerDefinition plain;
  const auto add_flag = [&hash](std::string_view name, bool is_set) {
    if (is_set) hash.add(name);
  };
  const auto add_text = [&hash](std::string_view name, const std::string& text) {
    if (text.empty()) return;
    hash.add(name);
    hash.add(text);
  };
  add_flag("characters", definition.is_byte_level != plain.is_byte_level);
  add_flag("fuse_unk", definition.fuses_unknown);
  add_flag("byte_fallback", definition.falls_back_to_bytes);
  add_text("unk_token", definition.unknown_token);
  add_text("continuing_subword_prefix", definition.continuing_prefix);
  add_text("end_of_word_suffix", definition.word_suffix);
  add_text("normalizer", definition.normalizer);
  add_text("pre_tokenizer", definition.pre_tokenizer);
}

void Tokenizer::State::encode(std::string_view text, bool parse_special, std::vector<int32_t>& ids) const {
  if (needs_valid_utf8 && !is_valid_utf8(text)) return encode(replace_invalid_utf8(text), parse_special, ids);
  if (!matcher.can_match(parse_special)) {
    if (normalizer) return encode_plain(normalizer->normalize(text), true, ids);
    return encode_plain(text, true, ids);
  }
  for (const TextPiece& piece : matcher.split_raw(text, parse_special)) {
    if (piece.id >= 0) {
      ids.push_back(piece.id);
    } else {
      encode_piece(piece.text, parse_special, piece.text.data() == text.data(), ids);
    }
  }
}

void Tokenizer::State::encode_piece(std::string_view text, bool parse_special, bool is_at_start,
                                    std::vector<int32_t>& ids) const {
  std::string normal;
  if (normalizer) text = normal = normalizer->normalize(text);
  for (const TextPiece& piece : matcher.split_normalized(text, parse_special)) {
    if (piece.id >= 0) {
      ids.push_back(piece.id);
    } else {
      encode_plain(piece.text, is_at_start && piece.text.data() == text.data(), ids);
    }
  }
}

void Tokenizer::State::encode_plain(std::string_view text, bool is_at_start, std::vector<int32_t>& ids) const {
  const bool words_matter =
      !definition.merges.empty() || definition.ignores_merges || definition.splitter == kCustomSplitter;
  if (!words_matter) return encoder.encode_symbols(text, ids);
  splitter->split_part(text, is_at_start, [this, &ids](std::string_view word) { encoder.encode_word(word, ids); });
}

std::string Tokenizer::State::decode_whole(std::span<const int32_t> ids, bool skip_special) const {
  std::vector<std::string> tokens;
  for (const int32_t id : ids) {
    if (id < 0 || id >= vocab_size) continue;
    const auto index = static_cast<size_t>(id);
    if (!spellings[index].empty() && !(skip_special && is_special[index])) tokens.push_back(spellings[index]);
  }
  return decoder.decode(std::move(tokens));
}

Tokenizer::Tokenizer(TokenizerDefinition definition) : state_(std::make_shared<const State>(std::move(definition))) {}

std::vector<int32_t> Tokenizer::encode(std::string_view text, bool parse_special) const {
  std::vector<int32_t> ids;
  ids.reserve(text.size() / 3 + 8);
  encode_append(text, ids, parse_special);
  return ids;
}

void Tokenizer::encode_append(std::string_view text, std::vector<int32_t>& ids, bool parse_special) const {
  state_->encode(text, parse_special, ids);
}

size_t Tokenizer::safe_cut(std::string_view text, size_t from) const {
  return state_->is_cut_safely ? state_->splitter->safe_cut(text, from) : text.size();
}

std::string Tokenizer::decode(std::span<const int32_t> ids, bool skip_special) const {
  if (!state_->decoder.is_context_free()) return state_->decode_whole(ids, skip_special);
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

const TokenFrame& Tokenizer::frame() const { return state_->frame; }

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
