// The splitters of Llama 3, cl100k and Qwen 2 as one scanner: one pass, each character looked at a bounded number of
// times.
//
//   (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
#include "text/pre_tokenizer.hpp"
#include "text/splitter_classes.hpp"

namespace owlet {

namespace {

struct Rules {
  size_t max_digits = 3;
  bool keeps_last_space_whole = false;  // \s++$ comes before \s*[\r\n]
};

bool is_line_end(char c) { return c == '\r' || c == '\n'; }

class Scanner {
 public:
  Scanner(std::string_view text, Rules rules) : text_(text), rules_(rules) {}

  // The end of the word that begins at `begin` < size.
  size_t word_end(size_t begin) const {
    const ClassifiedChar c = classify_fast(text_, begin);
    const size_t next = begin + c.num_bytes;
    if (c.char_class == CharClass::letter) return run_end(text_, next, CharClass::letter);
    if (c.char_class == CharClass::number) return digits_end(next);
    if (text_[begin] == '\'') {
      if (const size_t length = contraction_length(begin)) return begin + length;
    }
    // One character may open a word of letters, but no line end.
    if (next < text_.size() && !is_line_end(text_[begin])) {
      const ClassifiedChar second = classify_fast(text_, next);
      if (second.char_class == CharClass::letter) return run_end(text_, next + second.num_bytes, CharClass::letter);
      const bool opens_symbols = text_[begin] == ' ' && second.char_class == CharClass::other;
      if (opens_symbols) return symbols_end(next + second.num_bytes);
    }
    return c.char_class == CharClass::other ? symbols_end(next) : white_space_end(begin);
  }

 private:
  size_t digits_end(size_t position) const {
    for (size_t n = 1; n < rules_.max_digits && position < text_.size(); ++n) {
      const ClassifiedChar c = classify_fast(text_, position);
      if (c.char_class != CharClass::number) break;
      position += c.num_bytes;
    }
    return position;
  }

  // After the first symbol: the others, and the line ends behind them.
  size_t symbols_end(size_t position) const {
    position = run_end(text_, position, CharClass::other);
    while (position < text_.size() && is_line_end(text_[position])) ++position;
    return position;
  }

  // The length where (?i:'s|'t|'re|'ve|'m|'ll|'d) matches at `position`, otherwise 0. The long s is an s as well.
  size_t contraction_length(size_t position) const {
    const std::string_view rest = text_.substr(position + 1, 2);
    if (rest == "\u017F") return 3;
    const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; };
    const char first = rest.empty() ? '\0' : lower(rest[0]), second = rest.size() < 2 ? '\0' : lower(rest[1]);
    if (first == 's' || first == 'd' || first == 'm' || first == 't') return 2;
    const bool is_pair = (first == 'l' && second == 'l') || ((first == 'v' || first == 'r') && second == 'e');
    return is_pair ? 3 : 0;
  }

  // \s*[\r\n]+|\s+(?!\S)|\s+ : up to the last line end of the run; without one as in GPT-2.
  size_t white_space_end(size_t begin) const {
    size_t end = begin, last = begin, after_line_end = begin;
    bool is_at_text_end = true;
    while (end < text_.size()) {
      const ClassifiedChar c = classify_fast(text_, end);
      if (c.char_class != CharClass::space) {
        is_at_text_end = false;
        break;
      }
      last = end;
      end += c.num_bytes;
      if (is_line_end(text_[last])) after_line_end = end;
    }
    if (is_at_text_end && rules_.keeps_last_space_whole) return end;
    if (after_line_end > begin) return after_line_end;
    if (is_at_text_end) return end;
    return last > begin ? last : end;
  }

  std::string_view text_;
  Rules rules_;
};

class Llama3PreTokenizer final : public PreTokenizer {
 public:
  explicit Llama3PreTokenizer(Rules rules) : rules_(rules) {}

  void split(std::string_view text, WordSink sink) const override {
    const Scanner scanner(text, rules_);
    for (size_t begin = 0; begin < text.size();) {
      const size_t end = scanner.word_end(begin);
      sink(text.substr(begin, end - begin));
      begin = end;
    }
  }

  // Between a character that is no space and white space a word ends, unless the white space is a line end, which a
  // word of symbols takes along.
  size_t safe_cut(std::string_view text, size_t from) const override {
    return find_space_after_word(text, from, [](char c) { return !is_line_end(c); });
  }

 private:
  Rules rules_;
};

}  // namespace

std::unique_ptr<PreTokenizer> make_llama3_pre_tokenizer() { return std::make_unique<Llama3PreTokenizer>(Rules{}); }

std::unique_ptr<PreTokenizer> make_cl100k_pre_tokenizer() {
  return std::make_unique<Llama3PreTokenizer>(Rules{.keeps_last_space_whole = true});
}

std::unique_ptr<PreTokenizer> make_qwen2_pre_tokenizer() {
  return std::make_unique<Llama3PreTokenizer>(Rules{.max_digits = 1});
}

}  // namespace owlet
