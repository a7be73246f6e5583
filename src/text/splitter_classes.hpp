// What the hand-written splitters share: classes of ASCII characters, and where white space can be cut.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

#include "text/char_class.hpp"

namespace owlet {

/// The classes of U+0000..U+007F.
inline constexpr std::array<CharClass, 128> kAsciiClasses = [] {
  std::array<CharClass, 128> classes{};
  for (size_t c = 0; c < 128; ++c) {
    const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    const bool is_number = c >= '0' && c <= '9';
    const bool is_space = c == ' ' || (c >= 0x09 && c <= 0x0D);
    classes[c] = is_letter   ? CharClass::letter
                 : is_number ? CharClass::number
                 : is_space  ? CharClass::space
                             : CharClass::other;
  }
  return classes;
}();

/// classify_char() with a short way for ASCII.
inline ClassifiedChar classify_fast(std::string_view text, size_t position) {
  const auto byte = static_cast<uint8_t>(text[position]);
  return byte < 128 ? ClassifiedChar{kAsciiClasses[byte], 1} : classify_char(text, position);
}

/// The end of the longest run of one class that begins at `position`.
inline size_t run_end(std::string_view text, size_t position, CharClass wanted) {
  while (position < text.size()) {
    const ClassifiedChar c = classify_fast(text, position);
    if (c.char_class != wanted) break;
    position += c.num_bytes;
  }
  return position;
}

/// Whether `text`, not empty, ends with white space.
inline bool ends_with_space(std::string_view text) {
  size_t begin = text.size() - 1;
  while (begin > 0 && text.size() - begin < 4 && (static_cast<uint8_t>(text[begin]) & 0xC0) == 0x80) --begin;
  return classify_char(text, begin).char_class == CharClass::space;
}

/// The first place at or after `from`, at least 1, with an ASCII white space character for which `is_wanted(character)`
/// holds after something that is none; text.size() where there is no such place.
template <typename IsWanted>
size_t find_space_after_word(std::string_view text, size_t from, IsWanted&& is_wanted) {
  for (size_t place = std::max<size_t>(from, 1); place < text.size(); ++place) {
    const auto next = static_cast<uint8_t>(text[place]);
    const bool is_space = next < 128 && kAsciiClasses[next] == CharClass::space;
    if (is_space && is_wanted(text[place]) && !ends_with_space(text.substr(0, place))) return place;
  }
  return text.size();
}

}  // namespace owlet
