#include "text/tokenizer_files.hpp"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/atomic_file.hpp"
#include "base/error.hpp"
#include "base/json.hpp"
#include "base/temporary_folder.hpp"
#include "text/byte_alphabet.hpp"
#include "text/tokenizer.hpp"

namespace owlet {
namespace {

const std::filesystem::path kGolden = std::filesystem::path(OWLET_SOURCE_DIR) / "tests/golden/text";

// The byte tokenizer's document, to be changed by a test.
Json byte_document() { return parse_json(format_tokenizer_json(byte_tokenizer().definition()), "bytes"); }

TokenizerDefinition parse(const Json& document) { return parse_tokenizer_json(document.dump(), "test.json"); }

// The message of the Error that parsing throws, after its kind; empty where none is thrown.
std::string refusal(const Json& document) {
  try {
    parse(document);
  } catch (const Error& error) {
    return std::string(to_string(error.kind())) + ": " + error.what();
  }
  return "";
}

Json changed(const std::string& pointer, Json value) {
  Json document = byte_document();
  document[Json::json_pointer(pointer)] = std::move(value);
  return document;
}

TEST(TokenizerFiles, ByteTokenizerIsAHuggingFaceFolder) {
  const TemporaryFolder folder;
  byte_tokenizer().save(folder / "tokenizer");
  EXPECT_EQ(read_file(folder / "tokenizer/tokenizer.json"), read_file(kGolden / "bytes/tokenizer.json"));
  EXPECT_EQ(read_file(folder / "tokenizer/tokenizer_config.json"), read_file(kGolden / "bytes/tokenizer_config.json"));
  const Tokenizer loaded = load_tokenizer((folder / "tokenizer").string());
  EXPECT_EQ(loaded.name(), "bytes");
  EXPECT_EQ(loaded.fingerprint(), load_tokenizer("bytes").fingerprint());
  EXPECT_EQ(loaded.end_of_text_id(), 256);
}

TEST(TokenizerFiles, SavedAndLoadedIsTheSame) {
  const Tokenizer own = load_tokenizer((kGolden / "own").string());
  const TemporaryFolder folder;
  own.save(folder / "a/b", 1024);
  const Tokenizer loaded = load_tokenizer((folder / "a/b/tokenizer.json").string());
  EXPECT_EQ(loaded.fingerprint(), own.fingerprint());
  EXPECT_EQ(loaded.definition().vocab, own.definition().vocab);
  EXPECT_EQ(loaded.definition().added_tokens, own.definition().added_tokens);
  EXPECT_EQ(read_json(folder / "a/b/tokenizer_config.json")["model_max_length"], 1024);
}

TEST(TokenizerFiles, ReadsBothSpellingsOfMerges) {  // case A8
  Json document = changed("/model/vocab/ab", 257);
  document["model"]["merges"] = {"a b"};
  EXPECT_EQ(parse(document).merges, (std::vector<std::pair<int32_t, int32_t>>{{97, 98}}));
  document["model"]["merges"] = Json::array({Json::array({"a", "b"})});
  EXPECT_EQ(parse(document).merges, (std::vector<std::pair<int32_t, int32_t>>{{97, 98}}));
  // Tokens with a space: the array holds them, and the string where it can be cut in one way only.
  document["model"]["vocab"]["b c d"] = 258;
  document["model"]["vocab"]["ab c d"] = 259;
  document["model"]["merges"] = Json::array({Json::array({"a", "b c d"})});
  EXPECT_EQ(parse(document).merges, (std::vector<std::pair<int32_t, int32_t>>{{97, 258}}));
  const TokenizerDefinition by_array = parse(document);
  document["model"]["merges"] = {"a b c d"};
  EXPECT_EQ(parse(document).merges, by_array.merges);
  EXPECT_EQ(Tokenizer(by_array).encode("ab c d").size(), 6u);
  EXPECT_EQ(parse_tokenizer_json(format_tokenizer_json(by_array), "again").merges, by_array.merges);
  document["model"]["merges"] = {"a x y z"};
  EXPECT_EQ(refusal(document),
            "corrupt_file: test.json: merge 0 is 'a x y z', which can be cut into two tokens in 0 ways, expected 1");
}

TEST(TokenizerFiles, HolesInTheVocabularyCount) {  // case A21
  Json document = changed("/model/vocab/ab", 300);
  document["added_tokens"][0]["id"] = 303;
  const Tokenizer tokenizer(parse(document));
  EXPECT_EQ(tokenizer.vocab_size(), 304);
  EXPECT_EQ(tokenizer.token_bytes(300), "ab");
  EXPECT_EQ(tokenizer.token_bytes(280), "");
}

TEST(TokenizerFiles, RefusesWhatItDoesNotDo) {
  EXPECT_EQ(refusal(byte_document()), "");
  EXPECT_EQ(refusal(changed("/normalizer", {{"type", "NFC"}})),
            R"(unsupported: test.json: normalizer is {"type":"NFC"}, which is not supported)");
  EXPECT_EQ(refusal(changed("/model/dropout", 0.1)),
            "unsupported: test.json: model.dropout is 0.1, which is not supported");
  EXPECT_EQ(refusal(changed("/model/type", "Unigram")),
            R"(unsupported: test.json: model.type is "Unigram", which is not supported)");
  EXPECT_EQ(refusal(changed("/pre_tokenizer/add_prefix_space", true)),
            "unsupported: test.json: pre_tokenizer.add_prefix_space is true, which is not supported");
  for (const auto& [pointer, value] : std::vector<std::pair<std::string, Json>>{
           {"/pre_tokenizer/use_regex", false},
           {"/pre_tokenizer", nullptr},
           {"/pre_tokenizer", {{"type", "Whitespace"}}},
           {"/pre_tokenizer", {{"type", "Sequence"}, {"pretokenizers", Json::array()}}},
           {"/post_processor", {{"type", "TemplateProcessing"}}},
           {"/decoder", {{"type", "Metaspace"}}},
           {"/model/byte_fallback", true},
           {"/model/continuing_subword_prefix", "##"},
           {"/model/end_of_word_suffix", "</w>"}}) {
    EXPECT_EQ(refusal(changed(pointer, value)).substr(0, 24), "unsupported: test.json: ") << pointer;
  }
}

TEST(TokenizerFiles, ReadsASplitWithAKnownExpression) {  // case A12
  const Json byte_level = {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", false}};
  const auto sequence = [&](const std::string& regex, const std::string& behavior) {
    const Json split = {{"type", "Split"}, {"pattern", {{"Regex", regex}}}, {"behavior", behavior}, {"invert", false}};
    return Json{{"type", "Sequence"}, {"pretokenizers", Json::array({split, byte_level})}};
  };
  const std::string gpt2 = R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
  EXPECT_EQ(parse(changed("/pre_tokenizer", sequence(gpt2, "Isolated"))).splitter, "gpt2");
  EXPECT_NE(refusal(changed("/pre_tokenizer", sequence(gpt2, "Removed"))).find("behavior is \"Removed\""),
            std::string::npos);
  EXPECT_NE(refusal(changed("/pre_tokenizer", sequence("\\d", "Isolated"))).find("pattern is"), std::string::npos);
}

TEST(TokenizerFiles, RefusesDamagedFiles) {
  EXPECT_THROW(parse_tokenizer_json("{\"model\": ", "test.json"), Error);
  EXPECT_THROW(parse_tokenizer_json("[]", "test.json"), Error);
  EXPECT_THROW(parse_tokenizer_json("{}", "test.json"), Error);
  EXPECT_EQ(refusal(changed("/model/vocab", 7)),
            "corrupt_file: test.json: model.vocab is of type number, expected an object");
  EXPECT_EQ(refusal(changed("/model/vocab/ab", 97)),
            "corrupt_file: test.json: model.vocab gives the id 97 to 'a' and to 'ab'");
  for (const auto& [pointer, value] : std::vector<std::pair<std::string, Json>>{{"/model/vocab/ab", -1},
                                                                                {"/model/vocab/ab", int64_t{1} << 40},
                                                                                {"/model/vocab/ab", 3.5},
                                                                                {"/model/vocab/ab", "257"},
                                                                                {"/model/vocab/", 257},
                                                                                {"/model/merges", "a b"},
                                                                                {"/model/merges", {7}},
                                                                                {"/model/merges", {"ab"}},
                                                                                {"/model/merges", {"a q q"}},
                                                                                {"/model/ignore_merges", "yes"},
                                                                                {"/added_tokens", 1},
                                                                                {"/added_tokens/0", 1},
                                                                                {"/added_tokens/0/content", 1},
                                                                                {"/added_tokens/0/id", -5},
                                                                                {"/added_tokens/0/special", 1}}) {
    EXPECT_EQ(refusal(changed(pointer, value)).substr(0, 25), "corrupt_file: test.json: ")
        << pointer << " " << value.dump();
  }
}

TEST(TokenizerFiles, ReadsGpt2sPairOfFiles) {
  const TemporaryFolder folder;
  Json vocab = byte_document()["model"]["vocab"];
  vocab["ab"] = 256;
  vocab[std::string(kEndOfText)] = 257;
  write_file_atomically(folder / "vocab.json", vocab.dump());
  write_file_atomically(folder / "merges.txt", "#version: 0.2\r\na b\r\n\r\n");
  const Tokenizer tokenizer = load_tokenizer(folder.path().string());
  EXPECT_EQ(tokenizer.encode("abc<|endoftext|>", true), (std::vector<int32_t>{256, 99, 257}));
  EXPECT_EQ(tokenizer.end_of_text_id(), 257);
}

TEST(TokenizerFiles, FindsTheEndOfTextToken) {
  const TemporaryFolder folder;
  Json document = byte_document();
  document["added_tokens"][0]["content"] = "<|fin|>";
  write_file_atomically(folder / "tokenizer.json", document.dump());
  EXPECT_EQ(load_tokenizer(folder.path().string()).end_of_text_id(), std::nullopt);
  write_file_atomically(folder / "tokenizer_config.json", R"({"eos_token": {"content": "<|fin|>"}})");
  EXPECT_EQ(load_tokenizer(folder.path().string()).end_of_text_id(), 256);
  write_file_atomically(folder / "tokenizer_config.json", R"({"eos_token": "<|fin|>"})");
  EXPECT_EQ(load_tokenizer(folder.path().string()).end_of_text_id(), 256);
}

TEST(TokenizerFiles, NamesWhatIsMissing) {
  const TemporaryFolder folder;
  for (const std::string& place : {folder.path().string(), (folder / "nothing").string()}) {
    try {
      load_tokenizer(place);
      FAIL() << place;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::not_found);
      EXPECT_NE(std::string(error.what()).find(place), std::string::npos);
    }
  }
}

}  // namespace
}  // namespace owlet
