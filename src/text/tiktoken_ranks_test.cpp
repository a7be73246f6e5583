#include "text/tiktoken_ranks.hpp"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/atomic_file.hpp"
#include "base/error.hpp"
#include "base/temporary_folder.hpp"
#include "text/tokenizer.hpp"
#include "text/tokenizer_files.hpp"

namespace owlet {
namespace {

/// Base64 of up to three bytes.
std::string base64(std::string bytes) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const size_t size = bytes.size();
  bytes.resize(3);
  uint32_t word = 0;
  for (const char byte : bytes) word = word << 8 | static_cast<uint8_t>(byte);
  std::string text;
  for (int shift = 18; shift >= 0; shift -= 6) text += kDigits[word >> shift & 63];
  return text.substr(0, size + 1) + std::string(3 - size, '=');
}

/// All bytes, then `merged`.
std::string ranks_of(const std::vector<std::string>& merged) {
  std::string text;
  for (int byte = 0; byte < 256; ++byte)
    text += base64(std::string(1, static_cast<char>(byte))) + fmt::format(" {}\n", byte);
  for (size_t i = 0; i < merged.size(); ++i) text += base64(merged[i]) + fmt::format(" {}\n", 256 + i);
  return text;
}

std::vector<int32_t> ids_of(const std::vector<std::string>& merged, const std::string& text) {
  return Tokenizer(parse_tiktoken_ranks(ranks_of(merged), "r", {"gpt2", {}})).encode(text);
}

std::string refusal_of(const std::string& ranks, const TiktokenOptions& options = {"gpt2", {}}) {
  try {
    parse_tiktoken_ranks(ranks, "some.tiktoken", options);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(TiktokenRanks, MergeNeighboursOfTheLowestRank) {
  EXPECT_EQ(ids_of({"bc", "ab", "abc"}, "abc"), std::vector<int32_t>{258});
  EXPECT_EQ(ids_of({"bc", "ab"}, "abc"), (std::vector<int32_t>{'a', 256}));
  EXPECT_EQ(ids_of({"ab", "bc"}, "abc"), (std::vector<int32_t>{256, 'c'}));
  // "abc" comes of "a" and "bc" as well as of "ab" and "c".
  EXPECT_EQ(ids_of({"ab", "bc", "abc"}, "xabcx"), (std::vector<int32_t>{'x', 258, 'x'}));
  EXPECT_EQ(ids_of({"bc", "ab", "abc"}, "xabcx"), (std::vector<int32_t>{'x', 258, 'x'}));
}

/// No two tokens make "xyz", yet as a whole word it is one.
TEST(TiktokenRanks, WholeWordsNeedNoMerges) {
  EXPECT_EQ(ids_of({"xyz"}, "xyz"), std::vector<int32_t>{256});
  EXPECT_EQ(ids_of({"xyz"}, "xyzz"), (std::vector<int32_t>{'x', 'y', 'z', 'z'}));
}

TEST(TiktokenRanks, SpecialTokensStandBehindTheRanks) {
  const Tokenizer usual(parse_tiktoken_ranks(ranks_of({"ab"}), "r", {"gpt2", {}}));
  EXPECT_EQ(usual.end_of_text_id(), 257);
  const Tokenizer named(parse_tiktoken_ranks(ranks_of({"ab"}), "r", {"gpt2", {"<|one|>", "<|two|>"}}));
  EXPECT_EQ(named.added_token_id("<|one|>"), 257);
  EXPECT_EQ(named.added_token_id("<|two|>"), 258);
}

TEST(TiktokenRanks, RefusesBrokenFilesByLine) {
  const std::string good = ranks_of({});
  EXPECT_NE(refusal_of("").find("holds no token"), std::string::npos);
  EXPECT_NE(refusal_of(good + "YWI=\n").find("line 257"), std::string::npos);
  EXPECT_NE(refusal_of(good + "YWI= x\n").find("line 257"), std::string::npos);
  EXPECT_NE(refusal_of(good + "YW= 256\n").find("line 257"), std::string::npos);
  EXPECT_NE(refusal_of(good + "YWI= 99999999999\n").find("line 257"), std::string::npos);
  EXPECT_NE(refusal_of(good + "YWI= 7\n").find("a second time"), std::string::npos);
  EXPECT_NE(refusal_of(good + "YQ== 256\n").find("the same token"), std::string::npos);
  EXPECT_NE(refusal_of(good, {}).find("256 ranks is not known"), std::string::npos);
  EXPECT_EQ(refusal_of(good + "\n"), "");
}

class ImportTokenizer : public ::testing::Test {
 protected:
  std::filesystem::path put(const std::string& name, const std::string& text) {
    write_file_atomically(folder_.path() / name, text);
    return folder_.path() / name;
  }
  std::string import_refusal(const std::filesystem::path& path) {
    try {
      import_tokenizer(path);
    } catch (const Error& error) {
      return std::string(error.what()) + " " + error.hint();
    }
    return "";
  }
  TemporaryFolder folder_;
};

TEST_F(ImportTokenizer, SavedRanksGiveTheSameIds) {
  const auto path = put("own.tiktoken", ranks_of({"ab", "bc", "abc", " a"}));
  const Tokenizer imported = import_tokenizer(path, {"qwen2", {}});
  imported.save(folder_.path() / "out");
  const Tokenizer loaded = load_tokenizer((folder_.path() / "out").string());
  for (const char* text : {"abc abcd 12 ab", "\xff\xfe", "a<|endoftext|>b", ""}) {
    EXPECT_EQ(loaded.encode(text), imported.encode(text)) << text;
  }
  EXPECT_EQ(loaded.fingerprint(), imported.fingerprint());
  EXPECT_EQ(loaded.definition().splitter, "qwen2");
  EXPECT_EQ(import_tokenizer(folder_.path(), {"qwen2", {}}).fingerprint(), imported.fingerprint());
}

TEST_F(ImportTokenizer, EitherHalfOfGpt2sPairWillDo) {
  std::string vocab = R"({"a": 0, "b": 1, "ab": 2})";
  const auto half = put("encoder.json", vocab);
  EXPECT_NE(import_refusal(half).find("vocab.bpe"), std::string::npos);
  const auto other = put("vocab.bpe", "#version: 0.2\na b\n");
  // Both reach the pair; this one lacks most bytes, which the tokenizer says.
  EXPECT_EQ(import_refusal(half), import_refusal(other));
  EXPECT_EQ(import_refusal(half).find("is not there"), std::string::npos);
}

TEST_F(ImportTokenizer, RefusesWhatItCannotRead) {
  EXPECT_NE(import_refusal(put("tokenizer.model", std::string("\x0a\x0e\x00<unk>", 8))).find("SentencePiece"),
            std::string::npos);
  EXPECT_NE(import_refusal(put("notes.txt", "hello")).find("tiktoken"), std::string::npos);
  EXPECT_NE(import_refusal(folder_.path() / "nothing").find("no tokenizer"), std::string::npos);
}

}  // namespace
}  // namespace owlet
