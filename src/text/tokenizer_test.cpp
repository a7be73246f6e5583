#include "text/tokenizer.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <thread>

#include "base/error.hpp"
#include "text/utf8.hpp"

namespace owlet {
namespace {

using Ids = std::vector<int32_t>;

std::string all_bytes() {
  std::string bytes;
  for (int byte = 0; byte < 256; ++byte) bytes.push_back(static_cast<char>(byte));
  return bytes;
}

TEST(ByteTokenizer, IdsAreBytes) {
  const Tokenizer tokenizer = byte_tokenizer();
  Ids expected(256);
  std::iota(expected.begin(), expected.end(), 0);
  EXPECT_EQ(tokenizer.encode(all_bytes()), expected);
  EXPECT_EQ(tokenizer.decode(expected), all_bytes());
  EXPECT_EQ(tokenizer.vocab_size(), 257);
  EXPECT_EQ(tokenizer.end_of_text_id(), 256);
  EXPECT_EQ(tokenizer.name(), "bytes");
  EXPECT_EQ(tokenizer.token_bytes(65), "A");
}

TEST(Tokenizer, SpecialTextIsPlainUnlessAskedFor) {  // case A5
  const Tokenizer tokenizer = byte_tokenizer();
  const std::string text = "a<|endoftext|>b";
  EXPECT_EQ(tokenizer.encode(text).size(), text.size());
  EXPECT_EQ(tokenizer.encode(text, true), (Ids{97, 256, 98}));
  EXPECT_EQ(tokenizer.decode(Ids{97, 256, 98}), "ab");
  EXPECT_EQ(tokenizer.decode(Ids{97, 256, 98}, false), text);
  EXPECT_EQ(tokenizer.token_bytes(256), "");
  EXPECT_TRUE(tokenizer.is_special(256));
  EXPECT_EQ(tokenizer.added_token_id(kEndOfText), 256);
  EXPECT_EQ(tokenizer.added_token_id("<|other|>"), std::nullopt);
}

TEST(Tokenizer, EmptyTextHasNoTokens) {  // case B20
  EXPECT_EQ(byte_tokenizer().encode(""), Ids{});
  EXPECT_EQ(byte_tokenizer().encode("", true), Ids{});
  EXPECT_EQ(byte_tokenizer().decode({}), "");
}

TEST(Tokenizer, HalfACharacterIsTokens) {  // case A13
  const Tokenizer tokenizer = byte_tokenizer();
  EXPECT_EQ(tokenizer.encode("\xE6\xAD"), (Ids{0xE6, 0xAD}));
  EXPECT_EQ(tokenizer.decode(Ids{0xE6, 0xAD}), "\xE6\xAD");
}

TEST(Tokenizer, IdsThatAreNoTokenDecodeToNothing) {  // cases A21, C23
  TokenizerDefinition definition = byte_tokenizer().definition();
  definition.added_tokens.push_back({.content = "<|far|>", .id = 300});
  const Tokenizer tokenizer(definition);
  EXPECT_EQ(tokenizer.vocab_size(), 301);
  EXPECT_EQ(tokenizer.decode(Ids{72, 270, 301, 1'000'000, -1, 105}), "Hi");
  EXPECT_EQ(tokenizer.token_bytes(270), "");
  EXPECT_EQ(tokenizer.token_bytes(-1), "");
  EXPECT_FALSE(tokenizer.is_special(270));
  EXPECT_FALSE(tokenizer.is_special(1'000'000));
}

TEST(Tokenizer, FingerprintTellsTokenizersApart) {
  const TokenizerDefinition bytes = byte_tokenizer().definition();
  const uint64_t fingerprint = byte_tokenizer().fingerprint();
  EXPECT_EQ(Tokenizer(bytes).fingerprint(), fingerprint);
  EXPECT_EQ(fingerprint, 8599625333126510833u);  // written into data files: must never change
  TokenizerDefinition other = bytes;
  other.added_tokens[0].content = "<|end|>";
  EXPECT_NE(Tokenizer(other).fingerprint(), fingerprint);
  other = bytes;
  std::swap(other.vocab[0], other.vocab[1]);
  EXPECT_NE(Tokenizer(other).fingerprint(), fingerprint);
  other = bytes;
  other.vocab.emplace_back("ab");
  other.added_tokens[0].id = 257;
  const uint64_t without_merge = Tokenizer(other).fingerprint();
  other.merges.emplace_back('a', 'b');
  EXPECT_NE(Tokenizer(other).fingerprint(), without_merge);
  EXPECT_EQ(Tokenizer(other).encode("abba"), (Ids{256, 98, 97}));
  EXPECT_EQ(Tokenizer(other).name(), "bpe-258");
}

TEST(Tokenizer, RefusesInconsistentDefinitions) {
  const TokenizerDefinition bytes = byte_tokenizer().definition();
  const auto with_token = [&](AddedToken token) {
    TokenizerDefinition definition = bytes;
    definition.added_tokens.push_back(std::move(token));
    return definition;
  };
  EXPECT_THROW(Tokenizer(with_token({.content = "", .id = 257})), Error);
  EXPECT_THROW(Tokenizer(with_token({.content = "<a>", .id = 256})), Error);
  EXPECT_THROW(Tokenizer(with_token({.content = "<a>", .id = -1})), Error);
  EXPECT_THROW(Tokenizer(with_token({.content = "<a>", .id = INT32_MAX})), Error);
  TokenizerDefinition definition = bytes;
  definition.splitter = "none such";
  EXPECT_THROW(Tokenizer{definition}, Error);
  definition = bytes;
  definition.end_of_text = "<|eot|>";
  EXPECT_THROW(Tokenizer{definition}, Error);
}

TEST(Tokenizer, WhiteSpaceClaimedByManyTokensTakesNoQuadraticTime) {
  TokenizerDefinition definition = byte_tokenizer().definition();
  definition.added_tokens.push_back({.content = " ", .id = 257, .strips_left = true, .strips_right = true});
  EXPECT_EQ(Tokenizer(definition).encode(std::string(1 << 20, ' '), true).size(), size_t{1} << 20);
}

TEST(Tokenizer, EncodesFromSeveralThreads) {
  const Tokenizer tokenizer = byte_tokenizer();
  std::vector<std::thread> threads;
  std::vector<Ids> results(4);
  for (Ids& result : results) {
    threads.emplace_back([&result, tokenizer] {
      for (int i = 0; i < 100; ++i) tokenizer.encode_append("a<|endoftext|>b", result, true);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const Ids& result : results) EXPECT_EQ(result, results[0]);
}

}  // namespace
}  // namespace owlet
