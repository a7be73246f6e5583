// Splitters: they cut a text into the words that merging never crosses.
//
// A new splitter is one file pre_tokenizer_NAME.cpp with a class derived from PreTokenizer, its factory declared below,
// and one line in the list in pre_tokenizer.cpp.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/function_ref.hpp"

namespace owlet {

/// Receives the words of a text in order.
using WordSink = FunctionRef<void(std::string_view word)>;

/// Cuts text into words. Works on any bytes; bytes that are not valid UTF-8 count as symbols. Takes time linear in the
/// text. The words of a named splitter joined are the text; those of a tokenizer.json may leave parts out and change
/// others. Const methods may be called from several threads at once.
class PreTokenizer {
 public:
  virtual ~PreTokenizer() = default;
  /// Calls `sink` for each word of `text`; no word is empty. A word is valid during the call.
  virtual void split(std::string_view text, WordSink sink) const = 0;
  /// As split(), for a text that is part of a longer one: `is_at_start` where it begins that one.
  virtual void split_part(std::string_view text, bool is_at_start, WordSink sink) const;
  /// A place at or after `from` where the text can be cut in two so that the words of the parts are the words of the
  /// whole; text.size() where none is known.
  virtual size_t safe_cut(std::string_view text, size_t from) const = 0;
};

/// The splitter of that name. Throws Error unsupported, naming those that exist.
std::unique_ptr<PreTokenizer> make_pre_tokenizer(std::string_view name);

/// Names that make_pre_tokenizer() knows.
std::vector<std::string> pre_tokenizer_names();

/// The name of the splitter that equals a regular expression of a tokenizer.json, empty where there is none.
std::string_view pre_tokenizer_for_regex(std::string_view regex);

/// The expression of a named splitter as a tokenizer.json spells it (Oniguruma).
std::string_view regex_of_pre_tokenizer(std::string_view name);

/// GPT-2: '(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+ (Radford et al. 2019).
std::unique_ptr<PreTokenizer> make_gpt2_pre_tokenizer();

/// Llama 3: (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|
/// \s+(?!\S)|\s+
std::unique_ptr<PreTokenizer> make_llama3_pre_tokenizer();
/// tiktoken's cl100k: as Llama 3, but white space at the end of the text is one word, newlines in it or not.
std::unique_ptr<PreTokenizer> make_cl100k_pre_tokenizer();
/// Qwen 2: as Llama 3, but each digit is a word.
std::unique_ptr<PreTokenizer> make_qwen2_pre_tokenizer();
/// tiktoken's o200k, by its expression.
std::unique_ptr<PreTokenizer> make_o200k_pre_tokenizer();

}  // namespace owlet
