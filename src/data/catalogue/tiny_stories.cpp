// Short stories in the words of a small child (Eldan and Li, 2023, arXiv 2305.07759): what a model of a few million
// parameters can learn to write well.
#include "data/catalogue/families.hpp"

namespace owlet {

std::vector<CatalogueSet> tiny_stories_sets() {
  std::vector<CatalogueSet> sets;
  sets.push_back({.name = "tiny-stories",
                  .repo = "roneneldan/TinyStories",
                  .licence = "CDLA-Sharing-1.0",
                  .kind = DatasetKind::text,
                  .format = "txt",
                  .layout = "<|endoftext|>",
                  .bytes = 1'945'000'000,
                  .content = "2.1 M stories by GPT-3.5 and GPT-4",
                  .purpose = "first models of 1 to 50 M parameters: short stories with a small vocabulary",
                  .parts = {{"train", "TinyStories-train.txt"}, {"validation", "TinyStories-valid.txt"}}});
  sets.push_back(
      {.name = "tiny-stories-v2",
       .repo = "roneneldan/TinyStories",
       .licence = "CDLA-Sharing-1.0",
       .kind = DatasetKind::text,
       .format = "txt",
       .layout = "<|endoftext|>",
       .bytes = 2'250'000'000,
       .content = "2.7 M stories by GPT-4 alone",
       .purpose = "the same, better written; the usual choice today",
       .parts = {{"train", "TinyStoriesV2-GPT4-train.txt"}, {"validation", "TinyStoriesV2-GPT4-valid.txt"}}});
  sets.push_back(
      {.name = "tiny-stories-instruct",
       .repo = "roneneldan/TinyStoriesInstruct",
       .licence = "see the set's page",
       .kind = DatasetKind::instruction,
       .format = "txt",
       .layout = "tiny-stories-instruct",
       .bytes = 2'690'000'000,
       .content = "2.5 M stories with words, features and summaries",
       .purpose = "teach a story model to follow requests (these words, this ending)",
       .parts = {{"train", "TinyStories-Instruct-train.txt"}, {"validation", "TinyStories-Instruct-valid.txt"}}});
  return sets;
}

}  // namespace owlet
