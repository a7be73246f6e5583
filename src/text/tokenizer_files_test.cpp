#include "text/tokenizer_files.hpp"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/atomic_file.hpp"
#include "base/error.hpp"
#include "base/json.hpp"
#include "base/temporary_folder.hpp"
#include "text/pre_tokenizer.hpp"
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
  const auto is_refused = [](const std::string& pointer, const Json& value, const std::string& message) {
    EXPECT_EQ(refusal(changed(pointer, value)), "unsupported: test.json: " + message +
                                                    (message.ends_with("supported") ? "" : ", which is not supported"));
  };
  is_refused("/normalizer", {{"type", "Precompiled"}}, R"(normalizer.type is "Precompiled")");
  is_refused("/normalizer", {{"type", "Sequence"}, {"normalizers", {{{"type", "BertNormalizer"}}}}},
             R"(normalizer.normalizers[0].type is "BertNormalizer")");
  is_refused("/model/dropout", 0.1, "model.dropout is 0.1");
  is_refused("/model/type", "Unigram", R"(model.type is "Unigram")");
  is_refused("/pre_tokenizer", {{"type", "UnicodeScripts"}}, R"(pre_tokenizer.type is "UnicodeScripts")");
  is_refused("/pre_tokenizer", {{"type", "Punctuation"}, {"behavior", "Merged"}},
             R"(pre_tokenizer.behavior is "Merged")");
  is_refused("/pre_tokenizer", {{"type", "Metaspace"}, {"replacement", "_"}, {"prepend_scheme", "often"}},
             R"(pre_tokenizer.prepend_scheme is "often")");
  is_refused("/pre_tokenizer", {{"type", "Split"}, {"pattern", {{"Regex", "a(?i)b"}}}, {"behavior", "Isolated"}},
             "pre_tokenizer.pattern: the expression a(?i)b has '(?i)' at place 1, which is not supported");
  const Json byte_level = {{"type", "ByteLevel"}, {"add_prefix_space", false}};
  is_refused("/pre_tokenizer", {{"type", "Sequence"}, {"pretokenizers", {byte_level, byte_level}}},
             R"(pre_tokenizer.pretokenizers[1].type is "ByteLevel")");
  is_refused("/decoder", {{"type", "WordPiece"}}, R"(decoder.type is "WordPiece")");
  is_refused("/post_processor", {{"type", "Other"}}, R"(post_processor.type is "Other")");
}

TEST(TokenizerFiles, KnowsSplittersByTheirExpression) {
  const Json byte_level = {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", false}};
  const auto splitter_of = [&](std::string_view regex, const std::string& behavior) {
    const Json split = {{"type", "Split"}, {"pattern", {{"Regex", regex}}}, {"behavior", behavior}, {"invert", false}};
    return parse(changed("/pre_tokenizer",
                         Json{{"type", "Sequence"}, {"pretokenizers", Json::array({split, byte_level})}}))
        .splitter;
  };
  for (const std::string& name : pre_tokenizer_names()) {
    EXPECT_EQ(splitter_of(regex_of_pre_tokenizer(name), "Isolated"), name);
    EXPECT_EQ(splitter_of(regex_of_pre_tokenizer(name), "Removed"), kCustomSplitter);
    TokenizerDefinition definition = byte_tokenizer().definition();
    definition.splitter = name;
    EXPECT_EQ(parse_tokenizer_json(format_tokenizer_json(definition), "written").splitter, name);
  }
  EXPECT_EQ(splitter_of("\\d", "Isolated"), kCustomSplitter);
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
