#include "data/story_generator.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "base/atomic_file.hpp"
#include "base/error.hpp"
#include "data/story_grammar.hpp"
#include "data/story_plots.hpp"

namespace owlet {
namespace {

std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words;
  std::string word;
  for (const char c : text + " ") {
    if (std::isalpha(static_cast<unsigned char>(c))) {
      word.push_back(c);
    } else if (!word.empty()) {
      words.push_back(std::exchange(word, {}));
    }
  }
  return words;
}

std::string lower(std::string word) {
  for (char& c : word) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return word;
}

/// All values of a column of the word tables.
std::set<std::string> column(std::string_view key) {
  std::set<std::string> values;
  const stories::WordTable& table = stories::table_of(key);
  for (size_t row = 0; row < table.num_rows(); ++row) {
    for (size_t i = 0; i < table.keys.size(); ++i) {
      if (table.keys[i] == key) values.insert(std::string(table.cell(row, i)));
    }
  }
  return values;
}

TEST(StoryGenerator, IsAPureFunctionOfSeedAndIndex) {
  EXPECT_EQ(generate_story(1, 5), generate_story(1, 5));
  EXPECT_NE(generate_story(1, 5), generate_story(2, 5));
  EXPECT_NE(generate_story(1, 5), generate_story(1, 6));
}

TEST(StoryGenerator, LengthVocabularyAndVariety) {
  std::set<std::string> distinct, vocabulary, openings;
  std::map<std::string, int> plots;
  const int count = 10000;
  for (int i = 0; i < count; ++i) {
    const std::string story = generate_story(42, static_cast<uint64_t>(i));
    distinct.insert(story);
    openings.insert(story.substr(0, story.find('.')));
    const auto num_words = 1 + std::count_if(story.begin(), story.end(), [](char c) { return c == ' ' || c == '\n'; });
    EXPECT_GE(num_words, 60) << story;
    EXPECT_LE(num_words, 130) << story;
    for (const std::string& word : words_of(story)) vocabulary.insert(lower(word));
    if (i < 2000) ++plots[story_facts(42, static_cast<uint64_t>(i)).plot];
  }
  EXPECT_GE(distinct.size(), static_cast<size_t>(count) * 999 / 1000);
  EXPECT_LE(vocabulary.size(), 800u);
  EXPECT_GE(openings.size(), 1000u);
  EXPECT_EQ(plots.size(), stories::plots().size());
  for (const auto& [plot, times] : plots) EXPECT_GE(times, 100) << plot;
}

TEST(StoryGenerator, IsCleanText) {
  for (uint64_t i = 0; i < 3000; ++i) {
    const std::string story = generate_story(7, i);
    for (const char c : story) ASSERT_TRUE(c == '\n' || (c >= ' ' && c <= '~')) << story;
    for (const char* wrong : {"  ", " \n", "\n ", "\n\n", " .", " ,", "..", "{", "}", "[", "]", "|", " a a", " a e",
                              " a o", "an e ", "the the", "\"\""}) {
      EXPECT_EQ(story.find(wrong), std::string::npos) << "'" << wrong << "' in: " << story;
    }
    EXPECT_EQ(std::count(story.begin(), story.end(), '"') % 2, 0) << story;
    EXPECT_TRUE(story.back() == '.' || story.back() == '!' || story.back() == '"') << story;
    // A sentence begins with a capital.
    for (size_t at = 0; at + 2 < story.size(); ++at) {
      if ((story[at] == '.' || story[at] == '!') && story[at + 1] == ' ') {
        EXPECT_FALSE(std::islower(static_cast<unsigned char>(story[at + 2]))) << story.substr(at) << "\nin: " << story;
      }
    }
  }
}

TEST(StoryGenerator, PronounsFollowTheName) {
  for (uint64_t i = 0; i < 3000; ++i) {
    const std::string story = generate_story(3, i);
    const StoryFacts facts = story_facts(3, i);
    const std::set<std::string> wrong = facts.pronoun == "she" ? std::set<std::string>{"he", "him", "his", "himself"}
                                                               : std::set<std::string>{"she", "her", "herself"};
    // In sentences that begin with the hero and name nobody else, only the hero's pronouns stand.
    size_t begin = 0;
    for (size_t end; begin < story.size(); begin = end + 1) {
      end = std::min(story.find_first_of(".!?\n", begin), story.size());
      const std::vector<std::string> words = words_of(story.substr(begin, end - begin));
      if (words.empty() || words[0] != facts.name) continue;
      std::set<std::string> others = column("friend");
      others.merge(column("relative"));
      const bool is_alone =
          std::none_of(words.begin(), words.end(), [&](const auto& word) { return others.contains(word); });
      for (const std::string& word : words) {
        if (is_alone && facts.plot != "share" && facts.plot != "birthday") {
          EXPECT_FALSE(wrong.contains(lower(word))) << word << " for " << facts.name << " in: " << story;
        }
      }
    }
  }
}

TEST(StoryGenerator, OnlyTheStorysOwnThingsAppear) {
  // The key of the thing each plot turns on; no other thing of that kind may come up.
  const std::map<std::string, std::string> keys = {{"lost", "thing"},       {"wish", "thing"}, {"share", "food"},
                                                   {"broken", "breakable"}, {"rescue", "pet"}, {"birthday", "gift"},
                                                   {"seed", "plant"}};
  for (uint64_t i = 0; i < 3000; ++i) {
    const std::string story = generate_story(9, i);
    const StoryFacts facts = story_facts(9, i);
    const auto key = keys.find(facts.plot);
    if (key == keys.end()) continue;
    const std::vector<std::string> words = words_of(story);
    const auto times = std::count(words.begin(), words.end(), facts.object);
    EXPECT_GE(times, 2) << facts.object << " in: " << story;
    for (const std::string& other : column(key->second)) {
      if (other == facts.object) continue;
      EXPECT_EQ(std::count(words.begin(), words.end(), other), 0) << other << " in: " << story;
    }
    for (const std::string& name : column("name")) {
      EXPECT_EQ(std::count(words.begin(), words.end(), name) > 0, name == facts.name) << story;
    }
    if (facts.plot == "lost" || facts.plot == "wish" || facts.plot == "broken") {
      for (const std::string& color : column("color")) {
        if (color == facts.color) continue;
        EXPECT_EQ(std::count(words.begin(), words.end(), color), 0) << color << " in: " << story;
      }
      const size_t last = story.rfind(facts.object);
      EXPECT_LT(story.find(facts.color + " " + facts.object), last) << story;
    }
    if (facts.plot == "lost") {
      EXPECT_GE(std::count(words.begin(), words.end(), facts.helper), 2) << story;
    }
  }
}

TEST(StoryGenerator, WritesACorpus) {
  const auto path = std::filesystem::temp_directory_path() / fmt::format("owlet-stories-{}.txt", getpid());
  uint64_t last = 0;
  write_story_corpus(path, 3, 1, "<|endoftext|>", [&](uint64_t number) { last = number; });
  const std::string mark = "\n<|endoftext|>\n";
  EXPECT_EQ(read_file(path), generate_story(1, 0) + mark + generate_story(1, 1) + mark + generate_story(1, 2) + mark);
  EXPECT_EQ(last, 3u);
  std::filesystem::remove(path);
  EXPECT_GE(story_prompts().size(), 4u);
}

TEST(StoryGrammar, ExpandsWordsRulesAndChoices) {
  RandomStream random(1, 1);
  const StoryWords words = {{"color", "orange"}, {"name", "Tom"}, {"thing", "ball of {color}"}};
  const StoryRules rules = {{"day", "One [day], "}};
  EXPECT_EQ(expand_story_text("{@day}{name} saw {a color} {thing}. {Color} [[x]|x].", words, rules, random),
            "One day, Tom saw an orange ball of orange. Orange x.");
  EXPECT_EQ(tidy_story_spaces("  a  b \n  c \n\n"), "a b\nc");
  EXPECT_THROW(expand_story_text("{none}", words, rules, random), Error);
  EXPECT_THROW(expand_story_text("[a|b", words, rules, random), Error);
  EXPECT_THROW(expand_story_text("{name", words, rules, random), Error);
}

}  // namespace
}  // namespace owlet
