// Splitters: they cut a text into the words that merging never crosses.
//
// A new splitter is one file pre_tokenizer_NAME.cpp with a class derived from PreTokenizer, its factory declared below,
// and one line in the list in pre_tokenizer.cpp.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace owlet {

/// Receives the words of a text in order; joined they are the text.
using WordSink = std::function<void(std::string_view word)>;

/// Cuts text into words. Works on any bytes; bytes that are not valid UTF-8 count as symbols. Takes time linear in the
/// text. Const methods may be called from several threads at once.
class PreTokenizer {
 public:
  virtual ~PreTokenizer() = default;
  /// Calls `sink` for each word of `text`; no word is empty.
  virtual void split(std::string_view text, const WordSink& sink) const = 0;
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

/// GPT-2: '(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+ (Radford et al. 2019).
std::unique_ptr<PreTokenizer> make_gpt2_pre_tokenizer();

}  // namespace owlet
