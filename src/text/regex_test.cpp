#include "text/regex.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <vector>

#include "base/error.hpp"

namespace owlet {
namespace {

using Matches = std::vector<std::string>;

Matches matches(const Regex& regex, std::string_view text) {
  Matches found;
  regex.for_each_match(text, [&](size_t begin, size_t end) { found.emplace_back(text.substr(begin, end - begin)); });
  return found;
}
Matches matches(const std::string& pattern, std::string_view text, RegexDialect dialect = RegexDialect::oniguruma) {
  return matches(Regex(pattern, dialect), text);
}

double seconds_of(const std::string& pattern, std::string_view text) {
  const Regex regex(pattern);
  const auto begin = std::chrono::steady_clock::now();
  try {
    matches(regex, text);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::unsupported);
  }
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

TEST(Regex, ReadsRubysSyntax) {
  EXPECT_EQ(matches(R"(\h+)", "xyz12abgh"), (Matches{"12ab"}));
  EXPECT_EQ(matches(R"(^a|b$)", "a\nab b"), (Matches{"a", "a", "b"}));
  EXPECT_EQ(matches(R"(\d{1,2}+)", "12345"), (Matches{"12345"}));  // repeated, not possessive
  EXPECT_EQ(matches(R"((?:ab){,2}c)", "ababc c"), (Matches{"ababc", "c"}));
  EXPECT_EQ(matches(R"([a-z&&[^aeiou]]+)", "hello"), (Matches{"h", "ll"}));
  EXPECT_EQ(matches(R"([a-z&&[aeiou]]+)", "hello"), (Matches{"e", "o"}));
  EXPECT_EQ(matches(R"((?m:a.b))", "a\nb"), (Matches{"a\nb"}));
  EXPECT_EQ(matches(R"(a.b)", "a\nb a\rb"), (Matches{"a\rb"}));
  EXPECT_EQ(matches(R"(\s+)", "a\u180Eb\u00A0c"), (Matches{"\u00A0"}));  // U+180E is no white space any more
  EXPECT_EQ(matches(R"(\w+)", "e\u0301_½ x"), (Matches{"e\u0301_½", "x"}));
  EXPECT_EQ(matches(R"(\v)", "a\x0B\x85"), (Matches{"\x0B"}));
  EXPECT_EQ(matches(R"(\u00e9|\x{E8})", "éè"), (Matches{"é", "è"}));
}

TEST(Regex, ReadsRustsSyntax) {
  EXPECT_EQ(matches(R"(a$)", "a\na", RegexDialect::rust), (Matches{"a"}));
  EXPECT_EQ(matches(R"(a$)", "a\n", RegexDialect::rust), Matches{});
  EXPECT_EQ(matches(R"(\d{1,2}+)", "12345", RegexDialect::rust), (Matches{"12", "34", "5"}));
}

TEST(Regex, EmptyMatchesDoNotFollowOthers) {
  std::vector<std::pair<size_t, size_t>> places;
  Regex("a*").for_each_match("baac", [&](size_t begin, size_t end) { places.emplace_back(begin, end); });
  EXPECT_EQ(places, (std::vector<std::pair<size_t, size_t>>{{0, 0}, {1, 3}, {4, 4}}));
}

TEST(Regex, OfTextMatchesJustThatText) {
  const std::string text = "a.b*[x](y){2}\\ #&é\n";
  EXPECT_EQ(matches(Regex::of_text(text), "a_b" + text + text), (Matches{text, text}));
}

TEST(Regex, InvalidUtf8NeverMatches) {  // case A13
  EXPECT_EQ(matches(R"(.)",
                    "a\xE6\xAD"
                    "b\xFF"),
            (Matches{"a", "b"}));
  EXPECT_EQ(matches(R"([^x])", "\xC3"), Matches{});
}

TEST(Regex, RefusesWhatHasNoEqual) {
  for (const char* pattern :
       {"a(?i)b",      "[a[bc]]", "[^a&&[b]]", "[[:graph:]]", "\\K",       "\\G",  "\\X", "\\p",
        "\\p{NoSuch}", "\\x80",   "(*FAIL)",   "(?~a)",       "(?(1)a|b)", "(?<n", "(",   ")",
        "[a",          "a{2}?",   "(?i:ss)",   "(?i:ß)",      "\\10",      "\\",   "*a",  "\\x{110000}",
        "[z-a]",       "(?R)",    "(?&n)",     "\\g<1>",      "\\k<1>",    "(?C)", "\\Q"}) {
    try {
      Regex{pattern};
      ADD_FAILURE() << pattern;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::unsupported) << pattern;
      EXPECT_NE(std::string(error.what()).find(pattern), std::string::npos) << error.what();
    }
  }
  EXPECT_THROW(Regex(std::string(30'000, 'a')), Error);
  EXPECT_THROW(Regex("\xFF"), Error);
}

TEST(Regex, BacktrackingIsBounded) {
  const std::string many(1'000'000, 'a');
  for (const char* pattern : {"(a+)+c", "(a|aa)+c", "(a|aa)+d|a", "(.*)(.*)(.*)(.*)x", "(a?){40}a{40}", R"((a)\1*d)",
                              "a*d|a", "(?=a*b)a|c"}) {
    EXPECT_LT(seconds_of(pattern, many), 3) << pattern;
    EXPECT_LT(seconds_of(pattern, many + "bc\nd"), 3) << pattern;
  }
}

TEST(Regex, MatchesDoNotDependOnWindows) {
  // Lengths around the first window and its growth, and characters of two bytes across its end.
  for (const size_t length : {253u, 254u, 255u, 256u, 257u, 511u, 1023u, 1024u, 1025u, 5000u}) {
    const std::string spaces(length, ' ');
    EXPECT_EQ(matches(R"(\s+(?!\S)|\s+|x)", spaces + "x"), (Matches{spaces.substr(1), " ", "x"})) << length;
    EXPECT_EQ(matches(R"(\s+$|\s)", spaces), (Matches{spaces})) << length;
    EXPECT_EQ(matches(R"(b|é)", std::string(length, 'a') + "éb"), (Matches{"é", "b"})) << length;
    EXPECT_EQ(matches(R"((?<=a)b)", std::string(length, 'a') + "b"), (Matches{"b"})) << length;
    EXPECT_EQ(matches(R"(a*)", std::string(length, 'a')).size(), 1u) << length;
  }
}

TEST(Regex, LongMatchesAreFound) {
  const std::string many(1'000'000, ' ');
  EXPECT_EQ(matches(R"(\s*[\r\n]+|\s+(?!\S)|\s+)", many).size(), 1u);
  EXPECT_EQ(matches(R"(\s*[\r\n]+|\s+(?!\S)|\s+)", many + "x").size(), 2u);
  EXPECT_EQ(matches(R"((?:a|b)+)", std::string(1'000'000, 'b')).size(), 1u);
}

}  // namespace
}  // namespace owlet
