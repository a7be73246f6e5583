#include "text/char_class.hpp"

#include <gtest/gtest.h>

namespace owlet {
namespace {

TEST(CharClass, WhiteSpaceIsTheUnicodeProperty) {
  int num_spaces = 0;
  for (char32_t c = 0; c <= 0x10FFFF; ++c) num_spaces += char_class(c) == CharClass::space;
  EXPECT_EQ(num_spaces, 25);  // White_Space in PropList.txt
  for (const char32_t c :
       {0x09, 0x0D, 0x20, 0x85, 0xA0, 0x1680, 0x2000, 0x200A, 0x2028, 0x2029, 0x202F, 0x205F, 0x3000}) {
    EXPECT_EQ(char_class(c), CharClass::space) << uint32_t{c};
  }
  for (const char32_t c : {0x08, 0x0E, 0x1C, 0x1F, 0x180E, 0x200B, 0x2060, 0xFEFF}) {
    EXPECT_EQ(char_class(c), CharClass::other) << uint32_t{c};
  }
}

TEST(CharClass, LettersAndNumbers) {
  for (const char32_t c : {U'a', U'Z', U'é', U'ª', U'猫', U'ǅ', U'ʰ', U'𠀀'})
    EXPECT_EQ(char_class(c), CharClass::letter);
  for (const char32_t c : {U'0', U'९', U'Ⅷ', U'½', U'①', U'𝟗'}) EXPECT_EQ(char_class(c), CharClass::number);
  for (const char32_t c : {U'_', U'!', U'\u0301', U'ⓐ', U'😀', U'\uE000', U'\uFFFD'})
    EXPECT_EQ(char_class(c), CharClass::other);
}

TEST(CharClass, WordCharacters) {
  for (const char32_t c : {U'a', U'9', U'_', U'\u0301', U'‿', U'Ⅷ', U'ⓐ', U'\u200D'})
    EXPECT_TRUE(is_word_char(c)) << uint32_t{c};
  for (const char32_t c : {U' ', U'-', U'½', U'😀', U'\u200B'}) EXPECT_FALSE(is_word_char(c)) << uint32_t{c};
}

TEST(CharClass, InvalidBytesAreOther) {
  EXPECT_EQ(classify_char("\xC2", 0).char_class, CharClass::other);
  EXPECT_EQ(classify_char("\xE3\x80", 0).num_bytes, 2);
  EXPECT_EQ(classify_char("x\u3000", 1).char_class, CharClass::space);
  EXPECT_EQ(classify_char("x\u3000", 1).num_bytes, 3);
}

}  // namespace
}  // namespace owlet
