// UTF-8: decoding that never fails, and a stream that releases whole characters only.
//
// Invalid bytes become U+FFFD, one for each maximal subpart (Unicode 15, section 3.9, "U+FFFD Substitution of Maximal
// Subparts", as browsers and Python do): overlong forms (C0 80), surrogates (ED A0 80) and F5..FF are invalid.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace owlet {

/// What stands at one place of a text.
struct Utf8Char {
  char32_t code_point = 0;  ///< U+FFFD where invalid
  uint8_t num_bytes = 0;    ///< 1..4; for an invalid place the length of the maximal subpart, 1..3
  bool is_valid = false;
  bool is_cut_short = false;  ///< invalid only because the text ends inside a character that could still become valid
};

/// Decodes the character that begins at `position` < text.size().
Utf8Char decode_utf8(std::string_view text, size_t position);

/// Appends the UTF-8 form of a code point (U+0000..U+10FFFF without surrogates; others become U+FFFD).
void append_utf8(char32_t code_point, std::string& text);

bool is_valid_utf8(std::string_view text);

/// `text` with every invalid part replaced by U+FFFD.
std::string replace_invalid_utf8(std::string_view text);

/// Takes bytes piece by piece and gives back valid UTF-8: an incomplete character at the end is held back until its
/// other bytes come, invalid bytes become U+FFFD. Cutting the input at other places gives the same output.
class Utf8Stream {
 public:
  /// The characters that are complete now; may be empty.
  std::string push(std::string_view bytes);
  /// Ends the text: a held-back incomplete character comes out as U+FFFD.
  std::string flush();
  size_t num_pending_bytes() const { return pending_.size(); }

 private:
  std::string pending_;  // at most 3 bytes, the start of a character
};

}  // namespace owlet
