#include "data/prepare.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <set>

#include "base/atomic_file.hpp"
#include "base/error.hpp"
#include "base/parallel_for.hpp"
#include "data/corpus_split.hpp"
#include "data/sources/text_file.hpp"
#include "data/story_generator.hpp"
#include "data/token_sequence.hpp"
#include "text/tokenizer.hpp"

namespace owlet {
namespace {

namespace fs = std::filesystem;

class PrepareTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / fmt::format("owlet-prepare-{}", getpid());
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    num_threads_ = num_threads();
  }
  void TearDown() override {
    set_num_threads(num_threads_);
    fs::remove_all(folder_);
  }

  fs::path write(const std::string& text, const std::string& name = "text.txt") {
    std::ofstream(folder_ / name, std::ios::binary) << text;
    return folder_ / name;
  }

  PrepareOptions options(const std::string& out = "data") const {
    PrepareOptions options;
    options.tokenizer = "bytes";
    options.out = folder_ / out;
    return options;
  }

  static std::string documents(const std::vector<std::string>& texts) {
    std::string text;
    for (const std::string& document : texts) text += document + "\n<|endoftext|>\n";
    return text;
  }

  static std::string text_of(const TokenSequence& tokens) {
    std::vector<int32_t> ids(tokens.num_tokens());
    tokens.copy_tokens(0, ids.size(), ids.data());
    return byte_tokenizer().decode(ids, false);
  }

  static std::string message_of(const std::function<void()>& action) {
    try {
      action();
    } catch (const Error& error) {
      return fmt::format("{}: {}", to_string(error.kind()), error.what());
    }
    return {};
  }

  fs::path folder_;
  int num_threads_ = 1;
};

std::vector<std::string> numbered(int count) {
  std::vector<std::string> texts;
  for (int i = 0; i < count; ++i) texts.push_back(fmt::format("Document number {}.", i));
  return texts;
}

TEST_F(PrepareTest, CountsAndContentsAgree) {
  const DatasetInfo info =
      prepare_text_files({write(documents(numbered(100)) + " <|endoftext|>")}, "<|endoftext|>", options());
  EXPECT_EQ(info.documents, 100u);
  EXPECT_EQ(info.empty, 1u);
  EXPECT_EQ(info.split, "documents");
  EXPECT_EQ(info.validation.documents, 5u);
  EXPECT_EQ(info.train.documents, 95u);
  EXPECT_EQ(info.bytes, 10u * 18 + 90u * 19);
  EXPECT_EQ(info.tokens, info.bytes + 100);
  EXPECT_DOUBLE_EQ(info.bytes_per_token, 1.0);
  EXPECT_EQ(info.length_percentiles.at(50), 20u);
  EXPECT_EQ(info.length_percentiles.at(100), 20u);
  EXPECT_DOUBLE_EQ(info.fits.at(128), 1.0);

  const Dataset dataset = load_dataset(folder_ / "data");
  dataset.verify();
  EXPECT_EQ(dataset_info_to_json(dataset.info()), dataset_info_to_json(info));
  const std::string train = text_of(*dataset.train()), validation = text_of(*dataset.validation());
  EXPECT_EQ(train.substr(0, 13), "<|endoftext|>");
  for (const std::string& text : numbered(100)) {
    const bool in_train = train.find("<|endoftext|>" + text) != std::string::npos;
    const bool in_validation = validation.find("<|endoftext|>" + text) != std::string::npos;
    EXPECT_NE(in_train, in_validation) << text;
  }
  const std::vector<int32_t> lengths = dataset.token_byte_lengths();
  ASSERT_EQ(lengths.size(), 257u);
  EXPECT_EQ(lengths[65], 1);
  EXPECT_EQ(lengths[256], 0);
}

TEST_F(PrepareTest, EqualDocumentsNeverStandOnBothSides) {
  std::vector<std::string> texts;
  for (int copy = 0; copy < 4; ++copy) {
    for (const std::string& text : numbered(50)) texts.push_back(text);
  }
  PrepareOptions all = options();
  all.validation_share = 0.3;
  const DatasetInfo info = prepare_text_files({write(documents(texts))}, "<|endoftext|>", all);
  EXPECT_EQ(info.validation.documents, 4u * 15);
  const Dataset dataset = load_dataset(all.out);
  const std::string train = text_of(*dataset.train()), validation = text_of(*dataset.validation());
  for (const std::string& text : numbered(50)) {
    EXPECT_NE(train.find(text), validation.find(text)) << text;
    EXPECT_TRUE(train.find(text) == std::string::npos || validation.find(text) == std::string::npos) << text;
  }
}

TEST_F(PrepareTest, LargeCorpusMeetsTheShareByHash) {
  const DatasetInfo info = prepare_text_files({write(documents(numbered(20000)))}, "<|endoftext|>", options());
  EXPECT_NEAR(static_cast<double>(info.validation.documents), 1000, 150);
  EXPECT_EQ(info.validation.documents + info.train.documents, 20000u);
}

TEST_F(PrepareTest, SeedMovesTheSplit) {
  const fs::path file = write(documents(numbered(100)));
  PrepareOptions first = options("a"), second = options("b");
  second.seed = 1;
  prepare_text_files({file}, "<|endoftext|>", first);
  prepare_text_files({file}, "<|endoftext|>", second);
  EXPECT_NE(text_of(*load_dataset(first.out).validation()), text_of(*load_dataset(second.out).validation()));
}

TEST_F(PrepareTest, FewDocumentsAreSplitAtTheTail) {
  std::string text;
  for (int i = 0; i < 100; ++i) text += fmt::format("line {:04}\n", i);
  const DatasetInfo info = prepare_text_files({write(text)}, "<|endoftext|>", options());
  EXPECT_EQ(info.split, "tail");
  EXPECT_DOUBLE_EQ(info.validation_share, 0.1);
  const Dataset dataset = load_dataset(folder_ / "data");
  EXPECT_EQ(text_of(*dataset.train()), "<|endoftext|>" + text.substr(0, 900));
  EXPECT_EQ(text_of(*dataset.validation()), "<|endoftext|>" + text.substr(900));
}

TEST_F(PrepareTest, TailCutsBetweenCharactersAndAcrossDocuments) {
  std::vector<std::string> texts = {"aaaa", "\xC3\xA9\xC3\xA9\xC3\xA9", "bb"};  // 4 + 6 + 2 bytes
  PrepareOptions tail = options();
  tail.validation_share = 0.4;  // from byte 7 on: in the middle of the second é
  prepare_text_files({write(documents(texts))}, "<|endoftext|>", tail);
  Dataset dataset = load_dataset(tail.out);
  EXPECT_EQ(text_of(*dataset.train()), "<|endoftext|>aaaa<|endoftext|>\xC3\xA9");
  EXPECT_EQ(text_of(*dataset.validation()), "<|endoftext|>\xC3\xA9\xC3\xA9<|endoftext|>bb");
}

TEST_F(PrepareTest, NoValidationAndAllEqualDocuments) {
  PrepareOptions none = options();
  none.validation_share = 0;
  const DatasetInfo info = prepare_text_files({write(documents(numbered(30)))}, "<|endoftext|>", none);
  EXPECT_EQ(info.validation.documents, 0u);
  EXPECT_EQ(load_dataset(none.out).validation()->num_tokens(), 0u);
  PrepareOptions equal = options("equal");
  equal.split = SplitKind::documents;
  const fs::path file = write(documents(std::vector<std::string>(30, "same")));
  EXPECT_NE(message_of([&] { prepare_text_files({file}, "<|endoftext|>", equal); }).find("30 documents are equal"),
            std::string::npos);
  equal.split = SplitKind::automatic;
  EXPECT_EQ(prepare_text_files({file}, "<|endoftext|>", equal).split, "tail");
}

TEST_F(PrepareTest, ShardsAreTheSameWhateverTheThreads) {
  write_story_corpus(folder_ / "stories.txt", 3000, 1);
  std::vector<std::string> contents;
  for (const int threads : {1, 2, 5}) {
    set_num_threads(threads);
    PrepareOptions some = options(fmt::format("data{}", threads));
    some.tokens_per_shard = 300000;
    const DatasetInfo info = prepare_text_files({folder_ / "stories.txt"}, "<|endoftext|>", some);
    EXPECT_GE(info.train.shards.size(), 4u);
    std::string all;
    for (const SplitInfo& split : {info.train, info.validation}) {
      for (const ShardInfo& shard : split.shards) all += shard.file + read_file(some.out / shard.file);
    }
    contents.push_back(all + read_file(some.out / "data.json"));
    load_dataset(some.out).verify();
  }
  EXPECT_EQ(contents[0], contents[1]);
  EXPECT_EQ(contents[0], contents[2]);
}

TEST_F(PrepareTest, ReplacesNothingUnasked) {
  const fs::path file = write(documents(numbered(30)));
  prepare_text_files({file}, "<|endoftext|>", options());
  const std::string before = read_file(folder_ / "data/data.json");
  EXPECT_NE(message_of([&] { prepare_text_files({file}, "<|endoftext|>", options()); }).find("exists already"),
            std::string::npos);
  PrepareOptions forced = options();
  forced.force = true;
  forced.seed = 5;
  prepare_text_files({file}, "<|endoftext|>", forced);
  EXPECT_NE(read_file(folder_ / "data/data.json"), before);
  // Even with force, a folder of something else stays.
  fs::create_directories(folder_ / "home");
  write("dear", "home/letter.txt");
  forced.out = folder_ / "home";
  EXPECT_NE(message_of([&] { prepare_text_files({file}, "<|endoftext|>", forced); }).find("no data folder"),
            std::string::npos);
  EXPECT_TRUE(fs::exists(folder_ / "home/letter.txt"));
}

TEST_F(PrepareTest, FailuresBeforeTheFirstDocumentLeaveNothingBehind) {
  const fs::path file = write(documents(numbered(30)));
  EXPECT_NE(
      message_of([&] { prepare_text_files({write(" ", "e.txt")}, "<|endoftext|>", options()); }).find("no document"),
      std::string::npos);
  PrepareOptions share = options();
  share.validation_share = 1;
  EXPECT_NE(message_of([&] { prepare_text_files({file}, "<|endoftext|>", share); }).find("validation share 1"),
            std::string::npos);
  fs::remove(folder_ / "e.txt");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()), 1);
}

TEST_F(PrepareTest, LoadingFindsDisagreement) {
  PrepareOptions some = options();
  prepare_text_files({write(documents(numbered(30)))}, "<|endoftext|>", some);
  const fs::path info_path = some.out / "data.json";
  const std::string good = read_file(info_path);
  const auto message_with = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    const size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    text.replace(at, from.size(), to);
    write_file_atomically(info_path, text);
    return message_of([&] { load_dataset(some.out); });
  };
  EXPECT_EQ(message_with("owlet-data", "owlet-data"), "");
  EXPECT_NE(message_with("\"fingerprint\": \"", "\"fingerprint\": \"0").find("was made with tokenizer"),
            std::string::npos);
  EXPECT_NE(message_with("\"vocab_size\": 257", "\"vocab_size\": 300").find("(300)"), std::string::npos);
  EXPECT_NE(message_with("train-00000.owl", "../train-00000.owl").find("no plain file name"), std::string::npos);
  EXPECT_NE(message_with("train-00000.owl", "train-00009.owl").find("not_found"), std::string::npos);
  EXPECT_NE(message_with("train-00000.owl", "validation-00000.owl").find("data.json says"), std::string::npos);
  EXPECT_NE(message_with("\"version\": 1", "\"version\": 9").find("version 9"), std::string::npos);
  EXPECT_NE(message_with("\"50\"", "\"fifty\"").find("'fifty'"), std::string::npos);
  EXPECT_NE(message_with("\"seed\": 0", "\"seed\": -1").find("seed"), std::string::npos);
  EXPECT_NE(message_of([&] { load_dataset(folder_ / "none"); }).find("no data folder"), std::string::npos);
}

TEST_F(PrepareTest, TinyShakespeareIsSplitAsNanoGptDoes) {
  const fs::path path = fs::path(OWLET_SOURCE_DIR) / "../shared/data/tinyshakespeare.txt";
  if (!fs::exists(path)) GTEST_SKIP() << path << " is not there";
  const DatasetInfo info = prepare_text_files({path}, "<|endoftext|>", options());
  EXPECT_EQ(info.split, "tail");
  EXPECT_EQ(info.train.bytes, 1003854u);
  EXPECT_EQ(info.validation.bytes, 111540u);
}

}  // namespace
}  // namespace owlet
