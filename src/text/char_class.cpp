#include "text/char_class.hpp"

#include <utf8proc.h>

#include <array>
#include <memory>

#include "text/utf8.hpp"

namespace owlet {

namespace {

constexpr char32_t kTableSize = 0x10000;  // the first plane; the other planes ask utf8proc

bool is_white_space(char32_t c) {
  return (c >= 0x09 && c <= 0x0D) || c == 0x20 || c == 0x85 || c == 0xA0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

utf8proc_category_t category_of(char32_t code_point) {
  return utf8proc_category(static_cast<utf8proc_int32_t>(code_point));
}

CharClass compute_class(char32_t code_point) {
  if (is_white_space(code_point)) return CharClass::space;
  switch (category_of(code_point)) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
      return CharClass::letter;
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_NO:
      return CharClass::number;
    default:
      return CharClass::other;
  }
}

using Table = std::array<CharClass, kTableSize>;

const Table& class_table() {
  static const std::unique_ptr<const Table> table = [] {
    auto filled = std::make_unique<Table>();
    for (char32_t c = 0; c < kTableSize; ++c) (*filled)[c] = compute_class(c);
    return filled;
  }();
  return *table;
}

}  // namespace

CharClass char_class(char32_t code_point) {
  return code_point < kTableSize ? class_table()[code_point] : compute_class(code_point);
}

ClassifiedChar classify_char(std::string_view text, size_t position) {
  const Utf8Char c = decode_utf8(text, position);
  return {c.is_valid ? char_class(c.code_point) : CharClass::other, c.num_bytes};
}

bool is_word_char(char32_t code_point) {
  switch (category_of(code_point)) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_PC:
      return true;
    default:
      break;
  }
  // Join controls, and the enclosed letters, which are symbols by category and alphabetic by property.
  return code_point == 0x200C || code_point == 0x200D || (code_point >= 0x24B6 && code_point <= 0x24E9) ||
         (code_point >= 0x1F130 && code_point <= 0x1F149) || (code_point >= 0x1F150 && code_point <= 0x1F169) ||
         (code_point >= 0x1F170 && code_point <= 0x1F189);
}

}  // namespace owlet
