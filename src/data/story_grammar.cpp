#include "data/story_grammar.hpp"

#include <vector>

#include "base/error.hpp"

namespace owlet {
namespace {

/// Index of the bracket that closes the one at `open`; fills the top-level alternatives between them.
size_t split_choice(std::string_view text, size_t open, std::vector<std::string_view>& alternatives) {
  int depth = 0;
  size_t begin = open + 1;
  for (size_t i = open; i < text.size(); ++i) {
    if (text[i] == '[') ++depth;
    if (text[i] == ']') --depth;
    if ((text[i] == '|' && depth == 1) || depth == 0) {
      alternatives.push_back(text.substr(begin, i - begin));
      begin = i + 1;
    }
    if (depth == 0) return i;
  }
  fail(ErrorKind::internal, "story text has an open bracket: '{}'", text.substr(open));
}

bool begins_with_vowel(std::string_view word) {
  return !word.empty() && std::string_view("aeiou").find(word.front()) != std::string_view::npos;
}

std::string capitalised(std::string word) {
  if (!word.empty() && word[0] >= 'a' && word[0] <= 'z') word[0] = static_cast<char>(word[0] - 'a' + 'A');
  return word;
}

}  // namespace

std::string expand_story_text(std::string_view text, const StoryWords& words, const StoryRules& rules,
                              RandomStream& random) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '[') {
      std::vector<std::string_view> alternatives;
      i = split_choice(text, i, alternatives);
      out += expand_story_text(alternatives[random.next_below(alternatives.size())], words, rules, random);
    } else if (text[i] == '{') {
      const size_t close = text.find('}', i);
      check(close != std::string_view::npos, ErrorKind::internal, "story text has an open brace: '{}'", text.substr(i));
      std::string_view key = text.substr(i + 1, close - i - 1);
      i = close;
      if (key.starts_with('@')) {
        const auto rule = rules.find(key.substr(1));
        check(rule != rules.end(), ErrorKind::internal, "story text names the unknown rule '{}'", key);
        out += expand_story_text(rule->second, words, rules, random);
        continue;
      }
      const bool has_article = key.starts_with("a ") || key.starts_with("A ");
      const bool is_capital = key[0] >= 'A' && key[0] <= 'Z';
      if (has_article) key.remove_prefix(2);
      std::string lower(key);
      if (lower[0] >= 'A' && lower[0] <= 'Z') lower[0] = static_cast<char>(lower[0] - 'A' + 'a');
      const auto word = words.find(lower);
      check(word != words.end(), ErrorKind::internal, "story text names the unknown word '{}'", key);
      std::string value = word->second;
      // Words may hold templates of their own, for example "dried it with {his} towel".
      if (value.find_first_of("[{") != std::string::npos) value = expand_story_text(value, words, rules, random);
      if (has_article) value = (begins_with_vowel(value) ? "an " : "a ") + value;
      out += is_capital ? capitalised(std::move(value)) : value;
    } else {
      out.push_back(text[i]);
    }
  }
  return out;
}

std::string tidy_story_spaces(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool follows_gap = out.empty() || out.back() == ' ' || out.back() == '\n';
    if (c == ' ' && follows_gap) continue;
    if (c == '\n') {
      while (!out.empty() && out.back() == ' ') out.pop_back();
      if (out.empty() || out.back() == '\n') continue;
    }
    out.push_back(c);
  }
  while (!out.empty() && (out.back() == ' ' || out.back() == '\n')) out.pop_back();
  return out;
}

}  // namespace owlet
