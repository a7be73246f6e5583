// The GPT-2 splitter as a scanner: one pass, each character looked at a bounded number of times.
#include "text/pre_tokenizer.hpp"
#include "text/splitter_classes.hpp"

namespace owlet {

namespace {

class Gpt2Scanner {
 public:
  explicit Gpt2Scanner(std::string_view text) : text_(text) {}

  // The end of the word that begins at `begin` < size.
  size_t word_end(size_t begin) const {
    const char first = text_[begin];
    if (first == '\'') {
      if (const size_t length = contraction_length(begin)) return begin + length;
    }
    const size_t core = first == ' ' && begin + 1 < text_.size() ? begin + 1 : begin;
    const ClassifiedChar c = classify_fast(text_, core);
    if (c.char_class == CharClass::space) return white_space_end(begin);
    return run_end(text_, core + c.num_bytes, c.char_class);
  }

 private:
  // 2 or 3 where '(?:[sdmt]|ll|ve|re) matches at `position`, otherwise 0.
  size_t contraction_length(size_t position) const {
    const std::string_view rest = text_.substr(position + 1, 2);
    if (rest.empty()) return 0;
    if (rest[0] == 's' || rest[0] == 'd' || rest[0] == 'm' || rest[0] == 't') return 2;
    return rest == "ll" || rest == "ve" || rest == "re" ? 3 : 0;
  }

  // \s+(?!\S)|\s+ : the whole run at the end of the text; before a word all of the run but its last character, so that
  // a space can open the word; a single character that no word can take stands alone.
  size_t white_space_end(size_t begin) const {
    size_t end = begin, last = begin;
    while (end < text_.size()) {
      const ClassifiedChar c = classify_fast(text_, end);
      if (c.char_class != CharClass::space) return last > begin ? last : end;
      last = end;
      end += c.num_bytes;
    }
    return end;
  }

  std::string_view text_;
};

class Gpt2PreTokenizer final : public PreTokenizer {
 public:
  void split(std::string_view text, WordSink sink) const override {
    const Gpt2Scanner scanner(text);
    for (size_t begin = 0; begin < text.size();) {
      const size_t end = scanner.word_end(begin);
      sink(text.substr(begin, end - begin));
      begin = end;
    }
  }

  // Between a character that is no space and white space a word always ends. Looking ahead the expression sees only
  // whether white space goes on, and it never looks back. (After white space a cut would not do: the run before it
  // would become the end of a text and be taken whole.)
  size_t safe_cut(std::string_view text, size_t from) const override {
    return find_space_after_word(text, from, [](char) { return true; });
  }
};

}  // namespace

std::unique_ptr<PreTokenizer> make_gpt2_pre_tokenizer() { return std::make_unique<Gpt2PreTokenizer>(); }

}  // namespace owlet
