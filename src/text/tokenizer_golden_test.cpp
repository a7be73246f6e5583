// Ids against the `tokenizers` and `tiktoken` packages; the files come from tools/golden/text_goldens.py and
// splitter_goldens.py.
#include <gtest/gtest.h>

#include <filesystem>

#include "base/atomic_file.hpp"
#include "base/json.hpp"
#include "text/tokenizer.hpp"
#include "text/tokenizer_files.hpp"

namespace owlet {
namespace {

namespace fs = std::filesystem;

const fs::path kGolden = fs::path(OWLET_SOURCE_DIR) / "tests/golden/text";
const fs::path kShared = fs::path(OWLET_SOURCE_DIR) / "../shared/data";

using Ids = std::vector<int32_t>;

void expect_ids(const Tokenizer& tokenizer, const Json& cases) {
  ASSERT_GT(cases.size(), 10u);
  for (const Json& one : cases) {
    const auto text = one["text"].get<std::string>();
    const Ids plain = tokenizer.encode(text);
    EXPECT_EQ(plain, one["ids"].get<Ids>()) << Json(text).dump();
    EXPECT_EQ(tokenizer.encode(text, true), one["ids_special"].get<Ids>()) << Json(text).dump();
  }
}

void expect_round_trips(const Tokenizer& tokenizer, const Json& cases) {
  for (const Json& one : cases) {
    const auto text = one["text"].get<std::string>();
    EXPECT_EQ(tokenizer.decode(tokenizer.encode(text)), text);
    EXPECT_EQ(tokenizer.decode(tokenizer.encode(text, true), false), text);
  }
}

TEST(TokenizerGolden, OwnTokenizer) {
  const Tokenizer tokenizer = load_tokenizer((kGolden / "own").string());
  const Json cases = read_json(kGolden / "own/ids.json");
  expect_ids(tokenizer, cases);
  expect_round_trips(tokenizer, cases);
}

TEST(TokenizerGolden, TwoHundredStringsUnderFourSplitters) {
  const Json golden = read_json(kGolden / "splitters.json");
  ASSERT_GE(golden["texts"].size(), 200u);
  for (const char* splitter : {"gpt2", "cl100k", "llama3", "qwen2"}) {
    const Tokenizer tokenizer(parse_tiktoken_ranks(golden["ranks"].get<std::string>(), "ranks", {splitter, {}}));
    for (size_t i = 0; i < golden["texts"].size(); ++i) {
      const auto text = golden["texts"][i].get<std::string>();
      EXPECT_EQ(tokenizer.encode(text), golden[splitter][i].get<Ids>()) << splitter << ": " << Json(text).dump();
    }
  }
}

/// Merges are pairs in newer files, "left right" in older ones.
TEST(TokenizerGolden, BothSpellingsOfMergesAreTheSameTokenizer) {
  const fs::path path = kGolden / "own/tokenizer.json";
  Json document = read_json(path);
  const bool are_pairs = document["model"]["merges"][0].is_array();
  for (Json& merge : document["model"]["merges"]) {
    if (are_pairs) {
      merge = merge[0].get<std::string>() + " " + merge[1].get<std::string>();
    } else {
      const auto text = merge.get<std::string>();
      merge = Json::array({text.substr(0, text.find(' ')), text.substr(text.find(' ') + 1)});
    }
  }
  const Tokenizer other(parse_tokenizer_json(document.dump(), "other spelling"));
  const Tokenizer same(parse_tokenizer_json(read_file(path), path.string()));
  EXPECT_EQ(other.fingerprint(), same.fingerprint());
}

TEST(TokenizerGolden, ByteTokenizer) {
  const Json cases = read_json(kGolden / "bytes/ids.json");
  expect_ids(load_tokenizer("bytes"), cases);
  expect_ids(load_tokenizer((kGolden / "bytes").string()), cases);
}

TEST(TokenizerGolden, EveryFlagOfAddedTokens) {  // case A6
  const TokenizerDefinition own = load_tokenizer((kGolden / "own").string()).definition();
  for (const Json& setting : read_json(kGolden / "added_tokens.json")) {
    TokenizerDefinition definition = own;
    for (const Json& token : setting["tokens"]) {
      definition.added_tokens.push_back({.content = token["content"],
                                         .id = token["id"],
                                         .is_special = token["special"],
                                         .is_single_word = token["single_word"],
                                         .strips_left = token["lstrip"],
                                         .strips_right = token["rstrip"],
                                         .is_normalized = token["normalized"]});
    }
    SCOPED_TRACE(setting["tokens"][0].dump());
    expect_ids(Tokenizer(definition), setting["cases"]);
  }
}

TEST(TokenizerGolden, Gpt2) {
  if (!fs::exists(kShared / "gpt2_vocab.bpe")) GTEST_SKIP() << kShared << " has no GPT-2 vocabulary";
  const Tokenizer tokenizer = load_tokenizer(kShared.string());
  const Json cases = read_json(kGolden / "gpt2.json");
  expect_ids(tokenizer, cases);
  expect_round_trips(tokenizer, cases);
  EXPECT_EQ(tokenizer.vocab_size(), 50257);
  EXPECT_EQ(tokenizer.end_of_text_id(), 50256);
  EXPECT_EQ(tokenizer.encode("brutalist"), (Ids{1671, 315, 49845}));  // case A10
  EXPECT_EQ(tokenizer.encode("hello").size(), 1u);                    // case B20
  EXPECT_EQ(tokenizer.encode("hello, world!").size(), 4u);
  EXPECT_EQ(tokenizer.decode(tokenizer.encode("\xE6\xAD")), "\xE6\xAD");  // case A13
}

}  // namespace
}  // namespace owlet
