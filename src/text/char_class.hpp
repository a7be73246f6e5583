// Unicode classes of characters as the regular expressions of tokenizers use them (categories from utf8proc).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace owlet {

/// The four disjoint classes of the splitters: \p{L}, \p{N}, \s (the White_Space property: the control characters
/// U+001C..U+001F do not belong to it), and the rest.
enum class CharClass : uint8_t { other, letter, number, space };

/// The class of a code point up to U+10FFFF.
CharClass char_class(char32_t code_point);

/// The class of the character at `position` and its length in bytes. Invalid bytes are `other`.
struct ClassifiedChar {
  CharClass char_class;
  uint8_t num_bytes;
};
ClassifiedChar classify_char(std::string_view text, size_t position);

/// \w of Unicode technical standard 18: alphabetic, mark, decimal number, connector punctuation, join control.
bool is_word_char(char32_t code_point);

}  // namespace owlet
