#include <gtest/gtest.h>

#include <set>

#include "base/error.hpp"
#include "data/instruction/instruction_format.hpp"

namespace owlet {
namespace {

std::vector<ChatMessage> read(const std::string& block, uint64_t row = 0, uint64_t seed = 0) {
  return story_request_format().read(Json{{"text", block}}, {seed, row});
}

const std::string kBlock =
    "Features: Dialogue, BadEnding\nWords: quit, oak, gloomy\nSummary: Sara and Ben play in the\npark.\n"
    "Random sentence: The oak was tall.\nStory: \n\nSara ran.\n\n\"Look!\" said Ben.\n";

TEST(StoryRequest, HoldsEveryWishAndTheStoryAlone) {
  for (uint64_t row = 0; row < 50; ++row) {
    const std::vector<ChatMessage> messages = read(kBlock, row);
    ASSERT_EQ(messages.size(), 2u);
    EXPECT_EQ(messages[1].content, "Sara ran.\n\n\"Look!\" said Ben.");
    const std::string& request = messages[0].content;
    for (const char* part : {"Sara and Ben play in the park.", "the words quit, oak and gloomy", "The oak was tall.",
                             "some dialogue and a bad ending"}) {
      // A sentence may begin with "The words …".
      const bool is_there =
          request.find(part) != std::string::npos || request.find(std::string("T") + (part + 1)) != std::string::npos;
      EXPECT_TRUE(is_there) << part << " in: " << request;
    }
    EXPECT_EQ(request.find("Features:"), std::string::npos);
    EXPECT_EQ(request.find("  "), std::string::npos) << request;
  }
}

TEST(StoryRequest, SectionsMayComeInAnyOrder) {
  const std::string other =
      "Story:\nSara ran.\n\n\"Look!\" said Ben.\nRandom sentence: The oak was tall.\nSummary: Sara and Ben play in the "
      "park.\nWords: quit, oak, gloomy\nFeatures: Dialogue, BadEnding";
  EXPECT_EQ(read(other, 3), read(kBlock, 3));
}

TEST(StoryRequest, PhrasingDependsOnSeedAndRowAlone) {
  std::set<std::string> phrasings;
  for (uint64_t row = 0; row < 200; ++row) {
    EXPECT_EQ(read(kBlock, row, 7), read(kBlock, row, 7));
    phrasings.insert(read(kBlock, row, 7)[0].content);
  }
  EXPECT_GT(phrasings.size(), 100u);
  EXPECT_NE(read(kBlock, 1, 7), read(kBlock, 1, 8));
}

TEST(StoryRequest, StoryAloneGetsAPlainRequest) {
  const std::vector<ChatMessage> messages = read("Words: dog\nStory:\nA dog.");
  EXPECT_NE(messages[0].content.find("the word dog"), std::string::npos) << messages[0].content;
  EXPECT_NE(messages[0].content.find("story"), std::string::npos);
  EXPECT_FALSE(read("Story:\nA dog.")[0].content.empty());
}

TEST(StoryRequest, HeadersInsideAStoryAreText) {
  EXPECT_EQ(read("Words: a\nStory:\nHe read:\nWords: are cheap\nend")[1].content, "He read:\nWords: are cheap\nend");
}

TEST(StoryRequest, OddBlocks) {
  EXPECT_THROW(read("Words: a, b"), Error);
  EXPECT_EQ(read("Words: ,,\nSummary:\nFeatures: \nStory: x").size(), 2u);
  EXPECT_EQ(read("Words: a\r\nStory: x\r\n")[1].content, "x");
  EXPECT_TRUE(read("Story:")[1].content.empty()) << "counted later as an empty answer";
  const auto recognises = [](const std::string& text) {
    return story_request_format().recognises(Json{{"text", text}});
  };
  EXPECT_TRUE(recognises(kBlock));
  EXPECT_FALSE(recognises(""));
  EXPECT_FALSE(recognises("Story: alone"));
  EXPECT_FALSE(recognises("Once upon a time"));
}

}  // namespace
}  // namespace owlet
