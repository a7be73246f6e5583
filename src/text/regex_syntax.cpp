#include "text/regex_syntax.hpp"

#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "base/error.hpp"

namespace owlet {

namespace {

// Inside a set, without its brackets.
constexpr std::string_view kHexDigits = "0-9A-Fa-f";
constexpr std::string_view kOnigurumaWord = R"(\p{L}\p{M}\p{N}\p{Pc})";
constexpr std::string_view kRustWord = R"(\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control})";

constexpr std::array<std::pair<std::string_view, std::string_view>, 9> kPosixSets = {
    {{"alpha", R"(\p{Alphabetic})"},
     {"digit", R"(\p{Nd})"},
     {"alnum", R"(\p{Alphabetic}\p{Nd})"},
     {"space", R"(\p{White_Space})"},
     {"upper", R"(\p{Uppercase})"},
     {"lower", R"(\p{Lowercase})"},
     {"xdigit", kHexDigits},
     {"cntrl", R"(\p{Cc})"},
     {"word", kOnigurumaWord}}};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

class Rewriter {
 public:
  Rewriter(std::string_view pattern, RegexDialect dialect) : pattern_(pattern), dialect_(dialect) {}

  std::string run() {
    while (!at_end()) step();
    if (is_caseless_ && dialect_ == RegexDialect::oniguruma) refuse_multiple_folds();
    return std::move(out_);
  }

 private:
  bool at_end() const { return position_ >= pattern_.size(); }
  char peek(size_t ahead = 0) const { return position_ + ahead < pattern_.size() ? pattern_[position_ + ahead] : '\0'; }
  bool starts_with(std::string_view text) const { return pattern_.substr(position_).starts_with(text); }
  [[noreturn]] void refuse(size_t length) const {
    fail(ErrorKind::unsupported, "the expression {} has '{}' at place {}, which is not supported", pattern_,
         pattern_.substr(position_, length), position_);
  }

  std::string_view word_set() const { return dialect_ == RegexDialect::oniguruma ? kOnigurumaWord : kRustWord; }

  // A new atom begins; quantifiers refer to it.
  void begin_atom() { atom_begin_ = out_.size(); }

  void step() {
    switch (peek()) {
      case '\\':
        begin_atom();
        return escape();
      case '[':
        begin_atom();
        return set();
      case '(':
        return open_group();
      case ')':
        if (!groups_.empty()) {
          atom_begin_ = groups_.back();
          groups_.pop_back();
        }
        out_ += ')';
        ++position_;
        return;
      case '{':
        return interval();
      case '*':
      case '+':
      case '?':
        out_ += pattern_[position_++];
        return;
      default:
        return literal();
    }
  }

  // One character, all of its bytes.
  void literal() {
    begin_atom();
    do {
      out_ += pattern_[position_++];
    } while (!at_end() && (static_cast<uint8_t>(peek()) & 0xC0) == 0x80);
  }

  void escape() {
    const std::string_view word = word_set();
    switch (peek(1)) {
      case 'w':
        return replace(2, fmt::format("[{}]", word));
      case 'W':
        return replace(2, fmt::format("[^{}]", word));
      case 'h':
        return replace(2, fmt::format("[{}]", kHexDigits));
      case 'H':
        return replace(2, fmt::format("[^{}]", kHexDigits));
      case 'b':
        return replace(2, fmt::format("(?:(?<=[{0}])(?![{0}])|(?<![{0}])(?=[{0}]))", word));
      case 'B':
        return replace(2, fmt::format("(?:(?<=[{0}])(?=[{0}])|(?<![{0}])(?![{0}]))", word));
      case 'A':
      case 'z':
      case 'Z':
        return copy(2);
      case '1':
      case '2':
      case '3':
      case '4':
      case '5':
      case '6':
      case '7':
      case '8':
      case '9':
        if (is_digit(peek(2))) refuse(3);
        return copy(2);
      default:
        return escape_in_sets();
    }
  }

  // Escapes that mean the same inside and outside of sets.
  void escape_in_sets() {
    switch (peek(1)) {
      case 's':
        return replace(2, R"(\p{White_Space})");
      case 'S':
        return replace(2, R"(\P{White_Space})");
      case 'd':
        return replace(2, R"(\p{Nd})");
      case 'D':
        return replace(2, R"(\P{Nd})");
      case 'v':
        return replace(2, R"(\x{0B})");
      case 'p':
      case 'P':
        return property();
      case 'x':
        return code_point(2);
      case 'u':
        return code_point(2);
      case 'n':
      case 'r':
      case 't':
      case 'f':
      case 'a':
      case 'e':
        return copy(2);
      default:
        break;
    }
    const char c = peek(1);
    const bool is_letter_or_digit = is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (c == '\0' || is_letter_or_digit) refuse(2);
    out_ += '\\';
    ++position_;
    if (static_cast<uint8_t>(c) >= 0x80) out_.pop_back();
    out_ += pattern_[position_++];
    while (!at_end() && (static_cast<uint8_t>(peek()) & 0xC0) == 0x80) out_ += pattern_[position_++];
  }

  // \p{Name}, \p{^Name}, \pL
  void property() {
    if (peek(2) != '{') return copy(3);
    const size_t close = pattern_.find('}', position_);
    if (close == std::string_view::npos) refuse(3);
    copy(close + 1 - position_);
  }

  // \x41, \x{1F600}, \u0041. Two digits above 7F would be a byte in Oniguruma.
  void code_point(size_t digits_at) {
    const bool is_braced = peek(digits_at) == '{';
    size_t end = position_ + digits_at + (is_braced ? 1 : 0);
    const size_t begin = end;
    const size_t most = is_braced ? 8 : pattern_[position_ + 1] == 'u' ? 4 : 2;
    uint32_t value = 0;
    for (; end < pattern_.size() && end - begin < most; ++end) {
      const std::optional<uint32_t> digit = hex_digit(pattern_[end]);
      if (!digit) break;
      value = value * 16 + *digit;
    }
    const bool is_byte = !is_braced && most == 2 && value > 0x7F;
    const bool is_closed = !is_braced || (end < pattern_.size() && pattern_[end] == '}');
    if (end == begin || is_byte || !is_closed || value > 0x10FFFF) refuse(end + 1 - position_);
    replace(end + (is_braced ? 1 : 0) - position_, fmt::format("\\x{{{:X}}}", value));
  }

  static std::optional<uint32_t> hex_digit(char c) {
    if (is_digit(c)) return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return std::nullopt;
  }

  void open_group() {
    groups_.push_back(out_.size());
    if (peek(1) == '*') refuse(2);
    if (peek(1) != '?') return copy(1);
    for (const std::string_view plain : {"(?:", "(?=", "(?!", "(?<=", "(?<!", "(?>"}) {
      if (starts_with(plain)) return copy(plain.size());
    }
    const char kind = peek(2);
    if (kind == '<') {
      const size_t close = pattern_.find('>', position_);
      if (close == std::string_view::npos) refuse(3);
      return copy(close + 1 - position_);
    }
    options();
  }

  // (?i:…) and, at the start only, (?i): in mid-expression Ruby and Perl give it another reach.
  void options() {
    const size_t end = pattern_.find_first_not_of("imsx-", position_ + 2);
    if (end == std::string_view::npos || end == position_ + 2) refuse(3);
    const bool is_whole = pattern_[end] == ')';
    if ((pattern_[end] != ':' && !is_whole) || (is_whole && position_ != 0)) refuse(end + 1 - position_);
    for (size_t i = position_; i <= end; ++i) {
      const bool is_dot_all = pattern_[i] == 'm' && dialect_ == RegexDialect::oniguruma;
      if (pattern_[i] == 's' && dialect_ == RegexDialect::oniguruma) refuse(end + 1 - position_);
      if (pattern_[i] == 'i') is_caseless_ = true;
      out_ += is_dot_all ? 's' : pattern_[i];
    }
    position_ = end + 1;
    if (is_whole) groups_.pop_back();
  }

  // {n}, {n,}, {n,m}, {,m}; anything else is a literal brace.
  void interval() {
    size_t end = position_ + 1, num_commas = 0, num_digits = 0;
    while (end < pattern_.size() && (is_digit(pattern_[end]) || pattern_[end] == ',')) {
      (pattern_[end] == ',' ? num_commas : num_digits) += 1;
      ++end;
    }
    const bool is_interval = end < pattern_.size() && pattern_[end] == '}' && num_commas <= 1 && num_digits > 0;
    if (!is_interval) {
      begin_atom();
      out_ += "\\{";
      ++position_;
      return;
    }
    std::string text(pattern_.substr(position_, end + 1 - position_));
    if (text[1] == ',') text = fmt::format("{{0{}", text.substr(1));
    position_ = end + 1;
    out_ += text;
    if (dialect_ != RegexDialect::oniguruma) return;
    if (peek() == '?' && num_commas == 0) refuse(1);
    if (peek() == '+') {
      out_ = fmt::format("{}(?:{})+", out_.substr(0, atom_begin_), out_.substr(atom_begin_));
      ++position_;
    }
  }

  // A set without its brackets, up to the ']' or "&&" that ends it.
  std::string set_items() {
    std::string kept;
    std::swap(kept, out_);
    for (bool is_first = true; is_first || peek() != ']'; is_first = false) {
      if (at_end()) refuse(1);
      if (starts_with("&&")) break;
      if (peek() == '[') {
        posix_set();
      } else if (peek() == '\\') {
        set_escape();
      } else {
        out_ += pattern_[position_++];
      }
    }
    std::swap(kept, out_);
    return kept;
  }

  void set_escape() {
    switch (peek(1)) {
      case 'w':
        return replace(2, std::string(word_set()));
      case 'h':
        return replace(2, std::string(kHexDigits));
      case 'b':
        return replace(2, "\\x{08}");
      default:
        return escape_in_sets();
    }
  }

  void posix_set() {
    for (const auto& [name, items] : kPosixSets) {
      const std::string spelled = fmt::format("[:{}:]", name);
      if (starts_with(spelled)) return replace(spelled.size(), std::string(items));
    }
    refuse(std::min<size_t>(pattern_.find(']', position_), pattern_.size() - 1) + 1 - position_);
  }

  void set() {
    const bool is_negated = peek(1) == '^';
    position_ += is_negated ? 2 : 1;
    const std::string items = set_items();
    const std::string text = fmt::format("[{}{}]", is_negated ? "^" : "", items);
    if (peek() == ']') {
      ++position_;
      out_ += text;
      return;
    }
    if (is_negated) refuse(2);
    intersection(text);
  }

  // [a&&[b]] and [a&&[^b]]: an assertion before the set.
  void intersection(const std::string& left) {
    const bool is_negated = starts_with("&&[^");
    if (!starts_with("&&[")) refuse(3);
    position_ += is_negated ? 4 : 3;
    const std::string right = set_items();
    if (!starts_with("]]")) refuse(2);
    position_ += 2;
    out_ += fmt::format("(?:{}[{}]){})", is_negated ? "(?!" : "(?=", right, left);
  }

  // Oniguruma folds these pairs into one character ('ß' matches (?i:ss)), PCRE2 does not.
  void refuse_multiple_folds() const {
    std::string lower(pattern_);
    for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
    for (const std::string_view folded : {"ss", "ff", "fi", "fl", "st", "ß", "ŉ", "ǰ", "ﬀ", "ﬁ", "ﬂ", "ﬆ"}) {
      const size_t at = lower.find(folded);
      check(at == std::string::npos, ErrorKind::unsupported,
            "the case-insensitive expression {} has '{}' at place {}, which folds to another number of characters; "
            "that is not supported",
            pattern_, folded, at);
    }
  }

  void copy(size_t length) {
    length = std::min(length, pattern_.size() - position_);
    out_ += pattern_.substr(position_, length);
    position_ += length;
  }
  void replace(size_t length, const std::string& text) {
    out_ += text;
    position_ += length;
  }

  std::string_view pattern_;
  RegexDialect dialect_;
  size_t position_ = 0;
  std::string out_;
  size_t atom_begin_ = 0;       // in out_
  std::vector<size_t> groups_;  // where the open groups begin in out_
  bool is_caseless_ = false;
};

}  // namespace

std::string to_pcre2_syntax(std::string_view pattern, RegexDialect dialect) { return Rewriter(pattern, dialect).run(); }

}  // namespace owlet
