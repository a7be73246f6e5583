#include "text/bpe_encoder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "base/error.hpp"
#include "base/random.hpp"
#include "text/byte_alphabet.hpp"

namespace owlet {
namespace {

// The 256 bytes as ids in byte order.
TokenizerDefinition bytes_only() {
  TokenizerDefinition definition;
  for (int byte = 0; byte < 256; ++byte) {
    const char bytes[1] = {static_cast<char>(byte)};
    definition.vocab.push_back(spell_bytes({bytes, 1}));
  }
  return definition;
}

// Adds the merge of two tokens given by their bytes, and its result as a new token where it is not one yet.
void add_merge(TokenizerDefinition& definition, const std::string& left, const std::string& right) {
  const auto id_of = [&](const std::string& bytes) {
    const auto found = std::find(definition.vocab.begin(), definition.vocab.end(), spell_bytes(bytes));
    return static_cast<int32_t>(found - definition.vocab.begin());
  };
  definition.merges.emplace_back(id_of(left), id_of(right));
  if (static_cast<size_t>(id_of(left + right)) == definition.vocab.size())
    definition.vocab.push_back(spell_bytes(left + right));
}

std::vector<std::string> pieces(const TokenizerDefinition& definition, std::string_view word) {
  std::vector<int32_t> ids;
  BpeEncoder(definition).encode_word(word, ids);
  std::vector<std::string> texts;
  for (const int32_t id : ids) texts.push_back(*unspell_bytes(definition.vocab[static_cast<size_t>(id)]));
  return texts;
}

// Merging as defined: each time the best pair of the whole word, leftmost first.
std::vector<int32_t> merge_slowly(const TokenizerDefinition& definition, std::string_view word) {
  std::vector<int32_t> ids;
  for (const char byte : word) ids.push_back(static_cast<uint8_t>(byte));
  while (true) {
    size_t best_rank = definition.merges.size(), place = 0;
    for (size_t i = 0; i + 1 < ids.size(); ++i) {
      const auto found = std::find(definition.merges.begin(), definition.merges.end(), std::pair(ids[i], ids[i + 1]));
      const auto rank = static_cast<size_t>(found - definition.merges.begin());
      if (rank < best_rank) {
        best_rank = rank;
        place = i;
      }
    }
    if (best_rank == definition.merges.size()) return ids;
    const auto [left, right] = definition.merges[best_rank];
    const std::string merged =
        definition.vocab[static_cast<size_t>(left)] + definition.vocab[static_cast<size_t>(right)];
    const auto found = std::find(definition.vocab.begin(), definition.vocab.end(), merged);
    ids[place] = static_cast<int32_t>(found - definition.vocab.begin());
    ids.erase(ids.begin() + static_cast<ptrdiff_t>(place) + 1);
  }
}

// Merges over a, b, c drawn at random; tokens reachable in several ways among them.
TokenizerDefinition random_definition(RandomStream& random) {
  TokenizerDefinition definition = bytes_only();
  std::vector<std::string> tokens = {"a", "b", "c"};
  std::map<std::pair<std::string, std::string>, bool> seen;
  for (int i = 0; i < 25; ++i) {
    const std::string left = tokens[random.next_below(tokens.size())], right = tokens[random.next_below(tokens.size())];
    if (left.size() + right.size() > 12 || seen[{left, right}]) continue;
    seen[{left, right}] = true;
    add_merge(definition, left, right);
    tokens.push_back(left + right);
  }
  return definition;
}

TEST(BpeEncoder, MergesByRankAndNotFromLeftToRight) {  // case A10
  TokenizerDefinition definition = bytes_only();
  add_merge(definition, "b", "c");
  add_merge(definition, "a", "b");
  add_merge(definition, "bc", "d");
  EXPECT_EQ(pieces(definition, "abcd"), (std::vector<std::string>{"a", "bcd"}));
  EXPECT_EQ(pieces(definition, "abab"), (std::vector<std::string>{"ab", "ab"}));
}

TEST(BpeEncoder, EqualsTheDefinitionOnShortAndLongWords) {
  RandomStream random(3, stream_id("bpe"));
  for (int round = 0; round < 60; ++round) {
    const TokenizerDefinition definition = random_definition(random);
    const BpeEncoder encoder(definition);
    for (const uint64_t length : {1, 2, 3, 7, 20, 47, 48, 49, 120}) {
      std::string word;
      for (uint64_t i = 0; i < length; ++i) word.push_back(static_cast<char>('a' + random.next_below(3)));
      std::vector<int32_t> ids;
      encoder.encode_word(word, ids);
      ASSERT_EQ(ids, merge_slowly(definition, word)) << word;
    }
  }
}

TEST(BpeEncoder, EncodersDoNotShareRememberedWords) {
  TokenizerDefinition definition = bytes_only();
  add_merge(definition, "a", "b");
  const BpeEncoder with_merge(definition), without_merge(bytes_only());
  for (int i = 0; i < 3; ++i) {
    std::vector<int32_t> ids;
    with_merge.encode_word("abc", ids);
    without_merge.encode_word("abc", ids);
    const BpeEncoder copy = with_merge;
    copy.encode_word("abcab", ids);
    EXPECT_EQ(ids, (std::vector<int32_t>{256, 99, 97, 98, 99, 256, 99, 256}));
  }
}

TEST(BpeEncoder, AMegabyteInOneWordTakesNoQuadraticTime) {
  TokenizerDefinition definition = bytes_only();
  add_merge(definition, "a", "a");
  add_merge(definition, "aa", "aa");
  add_merge(definition, "aaaa", "aaaa");
  std::vector<int32_t> ids;
  BpeEncoder(definition).encode_word(std::string(1 << 20, 'a'), ids);
  EXPECT_EQ(ids.size(), size_t{1} << 17);
}

TEST(BpeEncoder, IgnoresMergesWhereAsked) {  // case A9
  TokenizerDefinition definition = bytes_only();
  definition.vocab.push_back(spell_bytes(" Việt"));
  EXPECT_EQ(pieces(definition, " Việt").size(), 7u);
  definition.ignores_merges = true;
  EXPECT_EQ(pieces(definition, " Việt"), (std::vector<std::string>{" Việt"}));
  definition.added_tokens.push_back({.content = " Việt", .id = 256});  // a special token never comes from plain text
  EXPECT_EQ(pieces(definition, " Việt").size(), 7u);
}

TEST(BpeEncoder, RefusesInconsistentDefinitions) {
  TokenizerDefinition missing_byte = bytes_only();
  missing_byte.vocab[200].clear();
  EXPECT_THROW(BpeEncoder{missing_byte}, Error);
  TokenizerDefinition unknown_id = bytes_only();
  unknown_id.merges.emplace_back(97, 5000);
  EXPECT_THROW(BpeEncoder{unknown_id}, Error);
  unknown_id.merges.back() = {-1, 97};
  EXPECT_THROW(BpeEncoder{unknown_id}, Error);
  TokenizerDefinition no_result = bytes_only();
  no_result.merges.emplace_back(97, 98);
  EXPECT_THROW(BpeEncoder{no_result}, Error);
}

}  // namespace
}  // namespace owlet
