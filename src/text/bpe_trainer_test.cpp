#include "text/bpe_trainer.hpp"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/atomic_file.hpp"
#include "base/error.hpp"
#include "base/parallel_for.hpp"
#include "base/random.hpp"
#include "text/tokenizer.hpp"
#include "text/tokenizer_files.hpp"

namespace owlet {
namespace {

const std::filesystem::path kGolden = std::filesystem::path(OWLET_SOURCE_DIR) / "tests/golden/text";

BpeTrainingResult train(std::string_view text, int32_t vocab_size) {
  BpeTrainer trainer({.vocab_size = vocab_size});
  trainer.add_document(text);
  return trainer.train();
}

BpeTrainingResult train_on_threads(std::string_view text, int32_t vocab_size, int threads) {
  const int before = num_threads();
  set_num_threads(threads);
  BpeTrainingResult result = train(text, vocab_size);
  set_num_threads(before);
  return result;
}

// Text without spaces in which hardly any word repeats.
std::string endless_chinese(size_t bytes) {
  RandomStream random(4, stream_id("chinese"));
  std::string text;
  while (text.size() < bytes) {
    const uint64_t c = 0x4E00 + random.next_below(3000);
    text += {static_cast<char>(0xE0 | c >> 12), static_cast<char>(0x80 | (c >> 6 & 0x3F)),
             static_cast<char>(0x80 | (c & 0x3F))};
    if (random.next_below(40) == 0) text += "。";
  }
  return text;
}

TEST(BpeTrainer, EqualsTheTokenizersPackage) {
  const BpeTrainingResult result = train(read_file(kGolden / "training_text.txt"), 400);
  EXPECT_FALSE(result.stopped_early);
  EXPECT_EQ(format_tokenizer_json(result.definition), read_file(kGolden / "own/tokenizer.json"));
}

TEST(BpeTrainer, ThreadsDoNotMatter) {
  const std::filesystem::path path = std::filesystem::path(OWLET_SOURCE_DIR) / "../shared/data/tinystories_sample.txt";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is missing";
  const std::string text = read_file(path);
  const BpeTrainingResult one = train_on_threads(text, 2048, 1), two = train_on_threads(text, 2048, 2);
  EXPECT_EQ(one.definition.vocab, two.definition.vocab);
  EXPECT_EQ(one.definition.merges, two.definition.merges);
  EXPECT_EQ(one.definition.vocab.size(), 2048u);
}

TEST(BpeTrainer, EveryByteIsAToken) {  // case A17
  const Tokenizer tokenizer(train("plain ascii text, plain ascii text", 300).definition);
  const std::string text = std::string("naïve 猫 \xFF\x00\xC0", 14);
  EXPECT_EQ(tokenizer.decode(tokenizer.encode(text)), text);
  EXPECT_EQ(tokenizer.end_of_text_id(), 0);
}

TEST(BpeTrainer, NoTokenCrossesWords) {  // case A18
  const BpeTrainingResult result = train("the owl the owl\nthe owl the owl\nthe owl 12 owl 12", 400);
  EXPECT_TRUE(result.stopped_early);
  const Tokenizer tokenizer(result.definition);
  for (int32_t id = 257; id < tokenizer.vocab_size(); ++id) {
    const std::string_view bytes = tokenizer.token_bytes(id);
    EXPECT_EQ(bytes.find_first_of(" \n", 1), std::string_view::npos) << bytes;
    EXPECT_EQ(tokenizer.encode(bytes), std::vector<int32_t>{id}) << "dead token " << bytes;
  }
}

TEST(BpeTrainer, CountsBeyond32Bits) {  // case A20
  BpeTrainer trainer({.vocab_size = 258});
  trainer.add_word("ab", int64_t{3} << 31);
  trainer.add_word("cd", (int64_t{3} << 31) + 1);
  trainer.add_word("cd", 1);
  const BpeTrainingResult result = trainer.train();
  EXPECT_EQ(result.definition.vocab.back(), "cd");
  BpeTrainer overflowing({.vocab_size = 258});
  overflowing.add_word("ab", INT64_MAX / 2);
  overflowing.add_word("cd", INT64_MAX / 2);
  EXPECT_THROW(overflowing.train(), Error);
  EXPECT_THROW(overflowing.add_word("ab", INT64_MAX), Error);
  EXPECT_THROW(overflowing.add_word("ab", 0), Error);
}

TEST(BpeTrainer, StopsEarlyAndSaysSo) {
  const BpeTrainingResult result = train("abc", 300);
  EXPECT_TRUE(result.stopped_early);
  EXPECT_EQ(result.definition.vocab.size(), 257u);
  ASSERT_EQ(result.notes.size(), 1u);
  EXPECT_NE(result.notes[0].find("257 tokens, not 300"), std::string::npos) << result.notes[0];
}

TEST(BpeTrainer, EmptyTextGivesTheBytes) {
  BpeTrainer trainer({.vocab_size = 300});
  EXPECT_EQ(trainer.train().definition.vocab.size(), 257u);
}

TEST(BpeTrainer, WordsWithoutEndAreCut) {  // case A19
  BpeTrainer trainer({.vocab_size = 300});
  trainer.add_document(std::string(10'000, 'x'));
  const BpeTrainingResult result = trainer.train();
  EXPECT_EQ(result.num_distinct_words, 2);  // pieces of 1024 bytes and the rest
  ASSERT_FALSE(result.notes.empty());
  EXPECT_NE(result.notes.back().find("longer than 1024 bytes"), std::string::npos) << result.notes.back();
}

TEST(BpeTrainer, MemoryStaysBounded) {  // case A19
  const std::string text = endless_chinese(1 << 20);
  BpeTrainerOptions options{.vocab_size = 600};
  options.words.memory_limit_bytes = 4 << 20;
  std::vector<TokenizerDefinition> definitions;
  for (const int threads : {1, 2}) {
    const int before = num_threads();
    set_num_threads(threads);
    BpeTrainer trainer(options);
    for (size_t at = 0; at < text.size(); at += 30'000) trainer.add_document(std::string_view(text).substr(at, 30'000));
    const BpeTrainingResult result = trainer.train();
    set_num_threads(before);
    EXPECT_LT(WordCounter::training_memory_bytes(static_cast<size_t>(result.num_distinct_words), 0), 4u << 20);
    EXPECT_NE(result.notes.back().find("rare words were left out"), std::string::npos);
    definitions.push_back(result.definition);
  }
  EXPECT_EQ(definitions[0].vocab, definitions[1].vocab);
  EXPECT_EQ(definitions[0].vocab.size(), 600u);
}

TEST(BpeTrainer, RefusesImpossibleOptions) {
  EXPECT_THROW(BpeTrainer({.vocab_size = 256}), Error);
  EXPECT_NO_THROW(BpeTrainer({.vocab_size = 257}));
  EXPECT_THROW(BpeTrainer({.vocab_size = 300, .min_frequency = 0}), Error);
  EXPECT_THROW(BpeTrainer({.vocab_size = 300, .special_tokens = {"<a>", "<a>"}}).train(), Error);
}

}  // namespace
}  // namespace owlet
