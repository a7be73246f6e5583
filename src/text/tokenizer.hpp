// Text to token ids and back: the one tokenizer type that data, training, generation and serving use.
//
//   Tokenizer tokenizer = load_tokenizer("runs/stories/tokenizer");   // or "bytes"
//   std::vector<int32_t> ids = tokenizer.encode("Once upon a time");
//   std::string text = tokenizer.decode(ids);                         // bytes; may end inside a character, see
//   utf8.hpp
//
// Here: encoding, decoding, what a tokenizer consists of. Not here: reading and writing of its files
// (tokenizer_files.hpp), training (bpe_trainer.hpp), splitting into words (pre_tokenizer.hpp), merging
// (bpe_encoder.hpp).
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/post_processor.hpp"
#include "text/tokenizer_definition.hpp"

namespace owlet {

/// A BPE tokenizer. Cheap to copy (copies share one immutable state); all methods are const and may be called from
/// several threads at once. Encoding with a byte-level tokenizer is lossless: decode(encode(text)) == text for any
/// bytes, valid UTF-8 or not, unless the tokenizer itself changes text (added tokens that strip white space,
/// normalizers, splitters that remove or add something).
class Tokenizer {
 public:
  /// Throws Error corrupt_file where the definition is inconsistent (a byte without a token, a merge of unknown ids or
  /// whose result is no token, two added tokens with one id) and unsupported for an unknown splitter.
  explicit Tokenizer(TokenizerDefinition definition);

  /// Ids of `text`. Invalid UTF-8 is U+FFFD for tokenizers that are not byte-level or normalise. Text that looks like a
  /// special token stays plain text unless `parse_special` is set; added tokens that are not special are always
  /// matched. The empty text gives no ids. Adds no begin or end token.
  std::vector<int32_t> encode(std::string_view text, bool parse_special = false) const;
  /// As encode(), appending to `ids`. Throws Error unsupported where an expression of the tokenizer backtracks without
  /// bound on the text.
  void encode_append(std::string_view text, std::vector<int32_t>& ids, bool parse_special = false) const;

  /// A place at or after `from` where `text` can be cut in two so that the ids of the parts (encode() without special
  /// tokens) are the ids of the whole; text.size() where none is known.
  size_t safe_cut(std::string_view text, size_t from) const;

  /// The bytes of `ids`, joined. Special tokens are left out, or written as their content with `skip_special` false.
  /// Ids that are no token (a padded vocabulary, negative) add nothing. The end may be an incomplete character.
  std::string decode(std::span<const int32_t> ids, bool skip_special = true) const;

  /// The raw bytes of a token, empty for special tokens and for ids that are no token. Valid as long as this object.
  std::string_view token_bytes(int32_t id) const;

  /// Largest id + 1; holes count.
  int32_t vocab_size() const;
  /// The id that parts documents, where the tokenizer has one.
  std::optional<int32_t> end_of_text_id() const;
  /// The id that text begins with: begin_of_text of the definition, otherwise end-of-text.
  std::optional<int32_t> begin_id() const;
  /// The ids at which generation ends: the end of a turn where there is one, then end-of-text.
  std::vector<int32_t> end_ids() const;
  bool is_special(int32_t id) const;
  /// The id of a special or added token by its content.
  std::optional<int32_t> added_token_id(std::string_view content) const;
  std::span<const AddedToken> added_tokens() const;
  /// The tokens that the tokenizer wants around a text, such as begin-of-sequence; encode() never adds them.
  const TokenFrame& frame() const;

  /// Short name for people: "bytes", or "bpe-50257".
  std::string name() const;
  /// Stable hash of vocabulary, merges, splitter and added tokens: the same tokenizer has the same value whatever files
  /// it came from. Data made with another tokenizer is refused by it. It detects mix-ups, not forgery.
  uint64_t fingerprint() const;
  const TokenizerDefinition& definition() const;

  /// Writes tokenizer.json and tokenizer_config.json, which the `tokenizers` and `transformers` packages load with
  /// equal ids, into `folder` (made if missing; each file appears whole). `model_max_length_tokens` 0 leaves that key
  /// out.
  void save(const std::filesystem::path& folder, int64_t model_max_length_tokens = 0) const;

 private:
  struct State;
  std::shared_ptr<const State> state_;
};

/// The byte tokenizer: ids 0..255 are bytes, 256 is kEndOfText.
Tokenizer byte_tokenizer();

/// Loads a tokenizer from the word "bytes", a folder, or a tokenizer.json. In a folder the first of these is taken:
/// tokenizer.json; vocab.json + merges.txt; encoder.json + vocab.bpe; gpt2_encoder.json + gpt2_vocab.bpe. Throws Error
/// not_found, corrupt_file (naming file and field), or unsupported naming the field whose value this program lacks.
Tokenizer load_tokenizer(const std::string& name_or_path);

}  // namespace owlet
