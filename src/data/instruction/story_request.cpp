// TinyStories-Instruct (Eldan and Li 2023): blocks of text with "Features:", "Words:", "Summary:", "Random sentence:"
// and "Story:" in any order. The four become a request in natural words, the story is the answer.
#include <array>
#include <optional>
#include <utility>

#include "base/error.hpp"
#include "base/random.hpp"
#include "data/instruction/conversation.hpp"
#include "data/instruction/instruction_format.hpp"
#include "data/instruction/row_fields.hpp"

namespace owlet {
namespace {

enum Section { features, words, summary, sentence, story, num_sections };
constexpr std::array<std::string_view, num_sections> kHeaders = {
    "Features:", "Words:", "Summary:", "Random sentence:", "Story:"};

using Sections = std::array<std::optional<std::string>, num_sections>;

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const size_t begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpace) - begin + 1);
}

/// One line of text: line ends and runs of spaces become single spaces.
std::string in_one_line(std::string_view text) {
  std::string line;
  for (const char c : trimmed(text)) {
    const bool is_space = c == ' ' || c == '\t' || c == '\n' || c == '\r';
    if (!is_space) {
      line += c;
    } else if (line.back() != ' ') {
      line += ' ';
    }
  }
  return line;
}

/// A header counts at the beginning of a line, and once: a story may have a line "Words: …" of its own.
Sections parse_block(std::string_view block) {
  Sections sections;
  std::string* current = nullptr;
  for (size_t begin = 0; begin < block.size();) {
    const size_t end = std::min(block.find('\n', begin), block.size() - 1) + 1;
    std::string_view line = block.substr(begin, end - begin);
    begin = end;
    for (size_t i = 0; i < num_sections; ++i) {
      if (sections[i] || !line.starts_with(kHeaders[i])) continue;
      current = &sections[i].emplace();
      line.remove_prefix(kHeaders[i].size());
      break;
    }
    if (current != nullptr) *current += line;
  }
  return sections;
}

/// "a", "a and b", "a, b and c".
std::string enumeration(const std::vector<std::string>& items) {
  std::string text;
  for (size_t i = 0; i < items.size(); ++i) {
    if (i > 0) text += i + 1 == items.size() ? " and " : ", ";
    text += items[i];
  }
  return text;
}

std::vector<std::string> comma_separated(std::string_view text) {
  std::vector<std::string> items;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    std::string item = in_one_line(text.substr(begin, end - begin));
    if (!item.empty()) items.push_back(std::move(item));
    begin = end + 1;
  }
  return items;
}

std::string feature_in_words(const std::string& feature) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kNames = {{{"Dialogue", "some dialogue"},
                                                                                    {"BadEnding", "a bad ending"},
                                                                                    {"Twist", "a twist"},
                                                                                    {"Foreshadowing", "foreshadowing"},
                                                                                    {"MoralValue", "a moral"},
                                                                                    {"Conflict", "a conflict"}}};
  for (const auto& [name, in_words] : kNames) {
    if (feature == name) return std::string(in_words);
  }
  return feature;
}

/// Draws for one row; each question has a number of its own, so that adding one changes no other.
class Chooser {
 public:
  explicit Chooser(const RowDraw& draw) : draw_(draw) {}
  uint64_t below(uint64_t question, uint64_t bound) const {
    return random_u64(draw_.seed, stream_id("story request"), draw_.row * 16 + question) % bound;
  }
  template <size_t N>
  std::string_view choose(uint64_t question, const std::array<std::string_view, N>& phrasings) const {
    return phrasings[below(question, N)];
  }

 private:
  RowDraw draw_;
};

/// The phrasing with `{}` replaced by `text`.
std::string fill_in(std::string_view phrasing, std::string_view text) {
  const size_t place = phrasing.find("{}");
  std::string filled(phrasing.substr(0, place));
  filled += text;
  filled += phrasing.substr(place + 2);
  return filled;
}

std::string as_sentence(std::string text) {
  constexpr std::string_view kEnds = ".!?\"'";
  if (kEnds.find(text.back()) == std::string_view::npos) text += '.';
  return text;
}

std::string opening(const Sections& sections, const Chooser& chooser) {
  constexpr std::array<std::string_view, 6> kPlain = {
      "Tell me a story.",         "Write a short story.",        "Please tell me a story.",
      "Can you tell me a story?", "I would like a short story.", "Make up a story for me."};
  constexpr std::array<std::string_view, 6> kAbout = {"Tell me a story about this: {}",
                                                      "Write a short story in which this happens: {}",
                                                      "Please tell me a story with this plot: {}",
                                                      "Can you write a story about the following? {}",
                                                      "I would like a story that goes like this: {}",
                                                      "Make up a story from this summary: {}"};
  const std::string plot = in_one_line(sections[summary].value_or(""));
  if (plot.empty()) return std::string(chooser.choose(0, kPlain));
  return fill_in(chooser.choose(0, kAbout), as_sentence(plot));
}

/// The wishes for words, features and a sentence, each a sentence of its own.
std::vector<std::string> wishes(const Sections& sections, const Chooser& chooser) {
  constexpr std::array<std::string_view, 4> kWords = {"It should use the words {}.", "Please use the words {}.",
                                                      "The words {} should appear in it.", "Put in the words {}."};
  constexpr std::array<std::string_view, 4> kOneWord = {"It should use the word {}.", "Please use the word {}.",
                                                        "The word {} should appear in it.", "Put in the word {}."};
  constexpr std::array<std::string_view, 4> kFeatures = {"It should have {}.", "Please give it {}.",
                                                         "The story needs {}.", "I want it to have {}."};
  constexpr std::array<std::string_view, 4> kSentence = {
      "It should contain the sentence \"{}\"", "Please use the sentence \"{}\"",
      "This sentence should be in it: \"{}\"", "Somewhere in it should stand: \"{}\""};
  std::vector<std::string> result;
  const std::vector<std::string> word_list = comma_separated(sections[words].value_or(""));
  if (!word_list.empty()) {
    result.push_back(fill_in(chooser.choose(1, word_list.size() == 1 ? kOneWord : kWords), enumeration(word_list)));
  }
  std::vector<std::string> feature_list = comma_separated(sections[features].value_or(""));
  for (std::string& feature : feature_list) feature = feature_in_words(feature);
  if (!feature_list.empty()) result.push_back(fill_in(chooser.choose(2, kFeatures), enumeration(feature_list)));
  const std::string wanted = in_one_line(sections[sentence].value_or(""));
  if (!wanted.empty()) result.push_back(fill_in(chooser.choose(3, kSentence), as_sentence(wanted)));
  // In any order: the last of those left moves to a drawn place.
  for (size_t left = result.size(); left > 1; --left)
    std::swap(result[left - 1], result[chooser.below(3 + left, left)]);
  return result;
}

bool recognises(const Json& row) {
  if (!has_text(row, "text")) return false;
  const Sections sections = parse_block(row["text"].get_ref<const std::string&>());
  return sections[story] && (sections[features] || sections[words] || sections[summary] || sections[sentence]);
}

std::vector<ChatMessage> read(const Json& row, const RowDraw& draw) {
  const Sections sections = parse_block(text_field(row, "text"));
  check(sections[story].has_value(), ErrorKind::corrupt_file, "a block without 'Story:'");
  const Chooser chooser(draw);
  std::string request = opening(sections, chooser);
  for (const std::string& wish : wishes(sections, chooser)) request += " " + wish;
  return {{ChatRole::user, std::move(request)}, {ChatRole::assistant, std::string(trimmed(*sections[story]))}};
}

}  // namespace

const InstructionFormat& story_request_format() {
  static const InstructionFormat format = {"tiny-stories-instruct",
                                           R"(text with "Words:", "Summary:", …, "Story:", parted by <|endoftext|>)",
                                           recognises, read};
  return format;
}

}  // namespace owlet
