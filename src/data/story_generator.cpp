#include "data/story_generator.hpp"

#include <algorithm>

#include "base/atomic_file.hpp"
#include "base/error.hpp"
#include "data/story_grammar.hpp"
#include "data/story_plots.hpp"

namespace owlet {
namespace {

constexpr size_t kMinWords = 60, kMaxWords = 130;
constexpr int kMaxAttempts = 50;
constexpr uint64_t kProgressStories = 1000;

struct Story {
  std::string text;
  StoryWords words;
  std::string_view plot;
};

size_t count_words(std::string_view text) {
  size_t count = 0;
  bool was_space = true;
  for (const char c : text) {
    const bool is_space = c == ' ' || c == '\n';
    if (was_space && !is_space) ++count;
    was_space = is_space;
  }
  return count;
}

/// One row of every table, and the words that follow from them.
StoryWords draw_words(RandomStream& random) {
  StoryWords words;
  for (const stories::WordTable& table : stories::tables()) {
    const size_t row = random.next_below(table.num_rows());
    for (size_t column = 0; column < table.keys.size(); ++column) {
      words[std::string(table.keys[column])] = table.cell(row, column);
    }
  }
  const bool is_in_tree = words["spot"] == "in a tall tree";
  words["helper"] = words[is_in_tree ? "climber" : "finder"];
  words["search"] = words[is_in_tree ? "climber_search" : "finder_search"];
  words["weather_night"] = words["weather"] == "windy" || words["weather"] == "cold" ? words["weather"] : "dark";
  return words;
}

Story tell_story(uint64_t seed, uint64_t index) {
  static const uint64_t stream = stream_id("stories");
  Story story;
  // Each story has 2^32 draws of its own.
  RandomStream random(seed, stream, index << 32);
  const stories::Plot& plot = stories::plots()[random.next_below(stories::plots().size())];
  story.plot = plot.name;
  for (int attempt = 0; attempt < kMaxAttempts; ++attempt) {
    story.words = draw_words(random);
    story.text = tidy_story_spaces(expand_story_text(plot.text, story.words, stories::rules(), random));
    const size_t num_words = count_words(story.text);
    if (num_words >= kMinWords && num_words <= kMaxWords) break;
  }
  return story;
}

}  // namespace

std::string generate_story(uint64_t seed, uint64_t index) { return tell_story(seed, index).text; }

StoryFacts story_facts(uint64_t seed, uint64_t index) {
  Story story = tell_story(seed, index);
  StoryWords& words = story.words;
  StoryFacts facts;
  facts.plot = story.plot;
  const bool is_about_animal = story.plot == "small-hero";
  facts.name = words[is_about_animal ? "zippo" : "name"];
  facts.pronoun = words[is_about_animal ? "zhe" : "he"];
  facts.place = words["place"];
  facts.color = words["color"];
  const std::pair<std::string_view, std::string_view> objects[] = {
      {"lost", "thing"}, {"wish", "thing"},    {"share", "food"}, {"broken", "breakable"},
      {"rescue", "pet"}, {"birthday", "gift"}, {"seed", "plant"}, {"dark", "noise_maker"}};
  for (const auto& [plot, key] : objects) {
    if (plot == story.plot) facts.object = words.find(key)->second;
  }
  facts.helper = story.plot == "lost" ? words["helper"] : is_about_animal ? words["mighty"] : words["relative"];
  return facts;
}

void write_story_corpus(const std::filesystem::path& path, uint64_t num_stories, uint64_t seed,
                        const std::string& separator, const std::function<void(uint64_t)>& on_progress) {
  AtomicFile file(path);
  for (uint64_t i = 0; i < num_stories; ++i) {
    file.write(generate_story(seed, i) + "\n" + separator + "\n");
    if (on_progress && (i + 1) % kProgressStories == 0) on_progress(i + 1);
  }
  file.commit();
  if (on_progress) on_progress(num_stories);
}

const std::vector<std::string>& story_prompts() {
  static const std::vector<std::string> prompts = {
      "Once upon a time, there was a little girl named Lily. She had a red ball",
      "Once there was a young boy named Tom. One sunny day, Tom",
      "Mia wished for a blue kite. Every night,",
      "Ben wanted to ride a bike. But he",
      "One day, Anna walked to the forest. She heard a soft sound",
      "Max was afraid of the dark. One windy night,",
  };
  return prompts;
}

}  // namespace owlet
