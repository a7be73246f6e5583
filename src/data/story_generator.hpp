// Small English stories of our own making: the offline corpus of `owlet demo`.
//
// What happens later in a story depends on what was said before: pronouns follow the child's name, the thing that is
// lost is the thing that is found (in its colour), the helper who came in is the one who is thanked, the wish is the
// one that comes true. A model shows what it has learned by continuing an opening without breaking such facts.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace owlet {

/// Story number `index` of the collection `seed`: 60 to 130 words in one or more paragraphs, plain ASCII, without
/// line end at the end. A pure function of its arguments.
std::string generate_story(uint64_t seed, uint64_t index);

/// The facts a story was told from, for tests and for questions about it.
struct StoryFacts {
  std::string name, pronoun;  ///< "Lily", "she"
  std::string object, color;  ///< "ball", "red"
  std::string place;          ///< "park"
  std::string helper;         ///< "owl"; the one who helps
  std::string plot;           ///< which kind of story
};
StoryFacts story_facts(uint64_t seed, uint64_t index);

/// Writes stories 0 … num_stories - 1 of the collection, each followed by LF, `separator`, LF. Written atomically; an
/// existing file is replaced. `on_progress` gets the number written now and then and may throw to cancel.
void write_story_corpus(const std::filesystem::path& path, uint64_t num_stories, uint64_t seed,
                        const std::string& separator = "<|endoftext|>",
                        const std::function<void(uint64_t)>& on_progress = {});

/// Openings to sample from, in the style of the stories.
const std::vector<std::string>& story_prompts();

}  // namespace owlet
