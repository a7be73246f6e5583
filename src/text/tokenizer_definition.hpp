// What a byte-level BPE tokenizer consists of, as its files hold it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace owlet {

/// The document separator of tokenizers made by Owlet, and GPT-2's.
inline constexpr std::string_view kEndOfText = "<|endoftext|>";

/// A token that is matched in the text before words are split, with the flags of Hugging Face's `added_tokens`.
struct AddedToken {
  std::string content;
  int32_t id = -1;
  bool is_special = true;       ///< matched only where special text is parsed, and left out by decode()
  bool is_single_word = false;  ///< matches only where no word character stands beside it
  bool strips_left = false;     ///< swallows white space before it
  bool strips_right = false;    ///< swallows white space after it
  bool is_normalized = false;   ///< matched after the non-normalized ones, in the normalised text

  bool operator==(const AddedToken&) const = default;
};

/// The `splitter` of tokenizers whose words `pre_tokenizer` describes.
inline constexpr std::string_view kCustomSplitter = "custom";

/// Everything that determines a BPE tokenizer. `vocab[id]` is the spelling of the token, empty where no token has that
/// id; in byte-level tokenizers it is spelled in the byte-level alphabet (byte_alphabet.hpp). Merges are pairs of ids,
/// the first merge ranks highest. The sections of a tokenizer.json that have no shorter name stay as JSON.
struct TokenizerDefinition {
  std::string splitter = "gpt2";  ///< a name from pre_tokenizer_names(), or kCustomSplitter
  std::vector<std::string> vocab;
  std::vector<std::pair<int32_t, int32_t>> merges;
  bool ignores_merges = false;  ///< a whole word that is in the vocabulary becomes that token without merging
  std::vector<AddedToken> added_tokens;
  std::string begin_of_text;  ///< content of tokenizer_config.json's bos_token where it is not end_of_text
  std::string end_of_turn;    ///< content of its eos_token where that is not end_of_text: it ends an answer in a chat
  std::string chat_template;  ///< Jinja text, empty where there is none
  std::string end_of_text;  ///< content of the document separator; empty: kEndOfText where it is among the added tokens

  bool is_byte_level = true;         ///< merging begins with bytes; otherwise with characters
  std::string unknown_token;         ///< stands for characters that have no token; empty: they are left out
  bool fuses_unknown = false;        ///< one unknown token for a run of such characters
  bool falls_back_to_bytes = false;  ///< characters without a token become tokens <0x00>..<0xFF> where those exist
  std::string continuing_prefix;     ///< before every character of a word but the first, as vocab spells it
  std::string word_suffix;           ///< after the last character of a word, as vocab spells it
  std::string normalizer;            ///< JSON; empty: none
  std::string pre_tokenizer;         ///< JSON, for kCustomSplitter only
  std::string decoder;               ///< JSON; empty: ByteLevel
  std::string post_processor;        ///< JSON; empty: none
};

}  // namespace owlet
