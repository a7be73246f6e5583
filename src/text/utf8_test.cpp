#include "text/utf8.hpp"

#include <gtest/gtest.h>

#include "text/byte_alphabet.hpp"

namespace owlet {
namespace {

const std::string kBad = "\xEF\xBF\xBD";

std::string stream_in_pieces(std::string_view bytes, size_t piece) {
  Utf8Stream stream;
  std::string out;
  for (size_t at = 0; at < bytes.size(); at += piece) out += stream.push(bytes.substr(at, piece));
  return out + stream.flush();
}

TEST(Utf8, EveryCodePointSurvives) {
  for (char32_t c = 0; c <= 0x10FFFF; ++c) {
    if (c >= 0xD800 && c <= 0xDFFF) continue;
    std::string text;
    append_utf8(c, text);
    const Utf8Char decoded = decode_utf8(text, 0);
    ASSERT_TRUE(decoded.is_valid) << uint32_t{c};
    ASSERT_EQ(uint32_t{decoded.code_point}, uint32_t{c});
    ASSERT_EQ(decoded.num_bytes, text.size());
  }
}

TEST(Utf8, InvalidBytesBecomeReplacementCharacters) {  // case F2
  EXPECT_EQ(replace_invalid_utf8("a\xC0\x80z"), "a" + kBad + kBad + "z");
  EXPECT_EQ(replace_invalid_utf8("\xED\xA0\x80"), kBad + kBad + kBad);
  EXPECT_EQ(replace_invalid_utf8("\xF5\x80\x80\x80"), kBad + kBad + kBad + kBad);
  EXPECT_EQ(replace_invalid_utf8("\xF4\x90\x80\x80"), kBad + kBad + kBad + kBad);
  EXPECT_EQ(replace_invalid_utf8("\xE6\xAD"), kBad);
  EXPECT_EQ(replace_invalid_utf8("\xE6\xADx"), kBad + "x");
  EXPECT_EQ(replace_invalid_utf8("\xF0\x9F\x98 \x80"), kBad + " " + kBad);
  EXPECT_EQ(replace_invalid_utf8("\xE0\x9F\xBF"), kBad + kBad + kBad);
  EXPECT_EQ(replace_invalid_utf8("\xFF\xFE"), kBad + kBad);
  EXPECT_TRUE(is_valid_utf8("猫 😀"));
  EXPECT_FALSE(is_valid_utf8("\xC3"));
  std::string surrogate;
  append_utf8(0xD800, surrogate);
  EXPECT_EQ(surrogate, kBad);
}

TEST(Utf8Stream, ReleasesWholeCharactersOnly) {  // cases A13, A14
  Utf8Stream stream;
  EXPECT_EQ(stream.push("a\xE7\x8C"), "a");
  EXPECT_EQ(stream.num_pending_bytes(), 2u);
  EXPECT_EQ(stream.push("\xAB!"), "猫!");
  EXPECT_EQ(stream.push("\xF0"), "");
  EXPECT_EQ(stream.push("\x9F\x98"), "");
  EXPECT_EQ(stream.push("\x80"), "😀");
  EXPECT_EQ(stream.push("\xF0\x9F"), "");
  EXPECT_EQ(stream.flush(), kBad);
  EXPECT_EQ(stream.flush(), "");
  EXPECT_EQ(stream.push("ok"), "ok");
}

TEST(Utf8Stream, OutputDoesNotDependOnTheCuts) {
  const std::string text = "a\xC0\x80 猫\xED\xA0\x80 😀\xF5\xE6\xADx\xF0\x9F\x98 é\xF0\x9F";
  const std::string whole = replace_invalid_utf8(text);
  for (size_t piece = 1; piece <= 5; ++piece) EXPECT_EQ(stream_in_pieces(text, piece), whole) << piece;
}

TEST(ByteAlphabet, SpellsEveryByte) {
  std::string bytes;
  for (int byte = 0; byte < 256; ++byte) bytes.push_back(static_cast<char>(byte));
  const std::string spelled = spell_bytes(bytes);
  EXPECT_TRUE(is_valid_utf8(spelled));
  EXPECT_EQ(unspell_bytes(spelled), bytes);
  EXPECT_EQ(spell_bytes(" a\n\xAD"), "\u0120a\u010A\u0143");
  EXPECT_EQ(unspell_bytes("a b"), std::nullopt);
  EXPECT_EQ(unspell_bytes("猫"), std::nullopt);
  EXPECT_EQ(unspell_bytes("\xC4"), std::nullopt);
}

}  // namespace
}  // namespace owlet
