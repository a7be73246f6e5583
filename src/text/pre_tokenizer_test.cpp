#include "text/pre_tokenizer.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "base/random.hpp"
#include "text/regex.hpp"

namespace owlet {
namespace {

using Words = std::vector<std::string>;

Words split_by(const PreTokenizer& splitter, std::string_view text) {
  Words words;
  splitter.split(text, [&](std::string_view word) { words.emplace_back(word); });
  return words;
}

Words split(std::string_view text) { return split_by(*make_pre_tokenizer("gpt2"), text); }

// A text of `length` parts that tell the alternatives apart, invalid bytes among them unless it is to be valid.
std::string random_text(RandomStream& random, int length, bool is_valid = false) {
  static const std::vector<std::string> parts = {
      "'", "s", "re", "ve", "ll", " ",      "  ",     "\n",     "\t", "a",    "Z",    "é",    "猫",
      "1", "S", "\r", "!",  "_",  "\u00A0", "\u3000", "\u017F", "LL", "\xC2", "\xA0", "\xE3", "\x80"};
  std::string text;
  const size_t num_parts = parts.size() - (is_valid ? 4 : 0);
  for (int i = 0; i < length; ++i) text += parts[random.next_below(num_parts)];
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

TEST(Llama3PreTokenizer, FollowsItsExpression) {  // cases A2, A11
  const auto llama3 = make_pre_tokenizer("llama3"), cl100k = make_pre_tokenizer("cl100k"),
             qwen2 = make_pre_tokenizer("qwen2");
  EXPECT_EQ(split_by(*llama3, "I'M THEY'RE 'x"), (Words{"I", "'M", " THEY", "'RE", " '", "x"}));
  EXPECT_EQ(split_by(*llama3, "a  b\tc"), (Words{"a", " ", " b", "\tc"}));
  EXPECT_EQ(split_by(*llama3, "12345 (x)\n\n y"), (Words{"123", "45", " (", "x", ")\n\n", " y"}));
  EXPECT_EQ(split_by(*qwen2, "123 4"), (Words{"1", "2", "3", " ", "4"}));
  EXPECT_EQ(split_by(*llama3, "a \n \n  "), (Words{"a", " \n \n", "  "}));
  EXPECT_EQ(split_by(*cl100k, "a \n \n  "), (Words{"a", " \n \n  "}));
  EXPECT_EQ(split_by(*cl100k, "\xE6\xAD"), (Words{"\xE6\xAD"}));
}

TEST(PreTokenizers, EqualTheirExpressions) {
  RandomStream random(4, stream_id("expressions"));
  for (const std::string& name : pre_tokenizer_names()) {
    const auto splitter = make_pre_tokenizer(name);
    const Regex regex{std::string(regex_of_pre_tokenizer(name))};
    for (int i = 0; i < 5000; ++i) {
      const std::string text = random_text(random, 12, true);
      Words expected;
      regex.for_each_match(text,
                           [&](size_t begin, size_t end) { expected.push_back(text.substr(begin, end - begin)); });
      ASSERT_EQ(split_by(*splitter, text), expected) << name << " '" << text << "'";
    }
  }
}

TEST(PreTokenizers, WordsJoinToTheText) {
  RandomStream random(1, stream_id("words"));
  for (const std::string& name : pre_tokenizer_names()) {
    const auto splitter = make_pre_tokenizer(name);
    for (int i = 0; i < 1000; ++i) {
      const std::string text = random_text(random, 30);
      std::string joined;
      for (const std::string& word : split_by(*splitter, text)) {
        EXPECT_FALSE(word.empty());
        joined += word;
      }
      ASSERT_EQ(joined, text) << name;
    }
  }
}

TEST(PreTokenizers, SafeCutsKeepTheWords) {
  RandomStream random(2, stream_id("cuts"));
  for (const char* name : {"gpt2", "cl100k", "llama3", "qwen2"}) {
    const auto splitter = make_pre_tokenizer(name);
    int num_cuts = 0;
    for (int i = 0; i < 3000; ++i) {
      const std::string text = random_text(random, 12);
      const size_t cut = splitter->safe_cut(text, text.size() / 3);
      if (cut < text.size()) ++num_cuts;
      Words parts = split_by(*splitter, text.substr(0, cut));
      for (const std::string& word : split_by(*splitter, text.substr(cut))) parts.push_back(word);
      ASSERT_EQ(parts, split_by(*splitter, text)) << name;
    }
    EXPECT_GT(num_cuts, 500) << name;
  }
}

TEST(PreTokenizers, AreFoundByNameAndRegex) {
  EXPECT_EQ(pre_tokenizer_names(), (Words{"gpt2", "cl100k", "llama3", "qwen2", "o200k"}));
  EXPECT_EQ(pre_tokenizer_for_regex(R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)"),
            "gpt2");
  EXPECT_EQ(pre_tokenizer_for_regex("\\w+"), "");
  EXPECT_THROW(make_pre_tokenizer("gpt9"), Error);
}

}  // namespace
}  // namespace owlet
