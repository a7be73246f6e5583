#include "text/pre_tokenizer.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "base/random.hpp"

namespace owlet {
namespace {

using Words = std::vector<std::string>;

Words split(std::string_view text) {
  Words words;
  make_pre_tokenizer("gpt2")->split(text, [&](std::string_view word) { words.emplace_back(word); });
  return words;
}

// A text of `length` parts that tell the alternatives apart, invalid bytes among them.
std::string random_text(RandomStream& random, int length) {
  static const std::vector<std::string> parts = {"'",  "s", "re",     "ve",     "ll",   " ",   "  ",   "\n",
                                                 "\t", "a", "Z",      "é",      "猫",   "1",   "\xC2", "\xA0",
                                                 "!",  "_", "\u00A0", "\u3000", "\xE3", "\x80"};
  std::string text;
  for (int i = 0; i < length; ++i) text += parts[random.next_below(parts.size())];
  return text;
}

TEST(Gpt2PreTokenizer, GivesTheLastSpaceToTheNextWord) {  // case A2
  EXPECT_EQ(split("a  b"), (Words{"a", " ", " b"}));
  EXPECT_EQ(split("def f():\n    return  x"), (Words{"def", " f", "():", "\n   ", " return", " ", " x"}));
  EXPECT_EQ(split("a  "), (Words{"a", "  "}));
  EXPECT_EQ(split("a\n\nb"), (Words{"a", "\n", "\n", "b"}));
  EXPECT_EQ(split("a \tb"), (Words{"a", " ", "\t", "b"}));
  EXPECT_EQ(split(""), Words{});
  EXPECT_EQ(split(" "), Words{" "});
}

TEST(Gpt2PreTokenizer, ContractionsAreLowerCaseOnly) {  // case A11
  EXPECT_EQ(split("I'm THEY'RE we've'll'd"), (Words{"I", "'m", " THEY", "'", "RE", " we", "'ve", "'ll", "'d"}));
  EXPECT_EQ(split("'s's 's"), (Words{"'s", "'s", " '", "s"}));
  EXPECT_EQ(split("'"), Words{"'"});
  EXPECT_EQ(split("'l"), (Words{"'", "l"}));
}

TEST(Gpt2PreTokenizer, FollowsUnicodeClasses) {
  EXPECT_EQ(split("naïve猫½१ 12"), (Words{"naïve猫", "½१", " 12"}));
  EXPECT_EQ(split("a\u00A0b\u3000\u3000c"), (Words{"a", "\u00A0", "b", "\u3000", "\u3000", "c"}));
  EXPECT_EQ(split("a\x1C"
                  "b"),
            (Words{"a", "\x1C", "b"}));  // no white space by Unicode, unlike Python's \s
  EXPECT_EQ(split("x😀!"), (Words{"x", "😀!"}));
}

TEST(Gpt2PreTokenizer, InvalidBytesAreSymbols) {
  EXPECT_EQ(split("a\xE6\xAD"
                  "b"),
            (Words{"a", "\xE6\xAD", "b"}));
  EXPECT_EQ(split(" \xFF!\xC2 1"), (Words{" \xFF!\xC2", " 1"}));
}

TEST(Gpt2PreTokenizer, WordsJoinToTheText) {
  RandomStream random(1, stream_id("words"));
  for (int i = 0; i < 2000; ++i) {
    const std::string text = random_text(random, 30);
    std::string joined;
    for (const std::string& word : split(text)) {
      EXPECT_FALSE(word.empty());
      joined += word;
    }
    ASSERT_EQ(joined, text);
  }
}

TEST(Gpt2PreTokenizer, SafeCutsKeepTheWords) {
  RandomStream random(2, stream_id("cuts"));
  const auto splitter = make_pre_tokenizer("gpt2");
  int num_cuts = 0;
  for (int i = 0; i < 5000; ++i) {
    const std::string text = random_text(random, 12);
    const size_t cut = splitter->safe_cut(text, text.size() / 3);
    if (cut < text.size()) ++num_cuts;
    Words parts = split(text.substr(0, cut));
    for (const std::string& word : split(text.substr(cut))) parts.push_back(word);
    ASSERT_EQ(parts, split(text));
  }
  EXPECT_GT(num_cuts, 1000);
}

TEST(PreTokenizers, AreFoundByNameAndRegex) {
  EXPECT_EQ(pre_tokenizer_names(), Words{"gpt2"});
  EXPECT_EQ(pre_tokenizer_for_regex(R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)"),
            "gpt2");
  EXPECT_EQ(pre_tokenizer_for_regex("\\w+"), "");
  EXPECT_THROW(make_pre_tokenizer("gpt9"), Error);
}

}  // namespace
}  // namespace owlet
