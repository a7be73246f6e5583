// Preparations that are interrupted, and what they go on with.
#include <gtest/gtest.h>
#include <zlib.h>

#include <fstream>

#include "base/atomic_file.hpp"
#include "base/error.hpp"
#include "base/parallel_for.hpp"
#include "base/temporary_folder.hpp"
#include "data/prepare.hpp"
#include "data/story_generator.hpp"
#include "data/token_sequence.hpp"
#include "text/bpe_trainer.hpp"
#include "text/tokenizer.hpp"

namespace owlet {
namespace {

namespace fs = std::filesystem;

class PrepareResumeTest : public testing::Test {
 protected:
  void SetUp() override {
    num_threads_ = num_threads();
    write_story_corpus(folder_ / "stories.txt", 600, 1);
  }
  void TearDown() override { set_num_threads(num_threads_); }

  fs::path write(const std::string& name, const std::string& text) {
    fs::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name, std::ios::binary) << text;
    return folder_ / name;
  }

  PrepareOptions options(const std::string& out) const {
    PrepareOptions options;
    options.tokenizer = "bytes";
    options.out = folder_ / out;
    options.chunk_bytes = 40000;
    options.tokens_per_shard = 150000;
    options.keep_seconds = 0;
    return options;
  }

  /// All files of a data folder, names and contents.
  static std::string contents(const fs::path& folder) {
    std::map<std::string, std::string> files;
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
      if (entry.is_regular_file()) files[fs::relative(entry.path(), folder).string()] = read_file(entry.path());
    }
    std::string all;
    for (const auto& [name, bytes] : files) all += name + "\n" + bytes;
    return all;
  }

  static std::string message_of(const std::function<void()>& action) {
    try {
      action();
    } catch (const Error& error) {
      return fmt::format("{}: {}", to_string(error.kind()), error.what());
    }
    return {};
  }

  /// Stops a preparation once it has written `calls` pieces of work; false where it was done before.
  static bool stop_after(int calls, const std::vector<fs::path>& files, PrepareOptions options) {
    options.on_progress = [&](const PrepareProgress&) {
      if (calls-- == 0) fail(ErrorKind::cancelled, "stopped");
    };
    return !message_of([&] { prepare_files(files, options); }).empty();
  }

  TemporaryFolder folder_;
  int num_threads_ = 1;
};

std::string rows(int first, int count) {
  std::string text;
  for (int i = first; i < first + count; ++i) text += fmt::format("{{\"text\": \"Row number {}, é.\"}}\n", i);
  return text;
}

TEST_F(PrepareResumeTest, ManyInterruptionsGiveTheSameBytes) {
  write("mixed/b.jsonl", rows(0, 2000));
  write("mixed/c.json", "[{\"text\": \"one\"}, {\"text\": \"two\"}, {\"text\": null}]");
  fs::rename(folder_ / "stories.txt", folder_ / "mixed/a.txt");
  write("mixed/d.txt", "CR\r<|endoftext|>\rline ends\r\n<|endoftext|>" + std::string(30000, 'x') + "\r\nlast");
  const std::vector<fs::path> files = {folder_ / "mixed"};
  const DatasetInfo whole = prepare_files(files, options("whole"));
  EXPECT_EQ(whole.documents, 600u + 2000 + 2 + 3);
  EXPECT_EQ(whole.empty, 1u);
  const std::string expected = contents(folder_ / "whole");
  load_dataset(folder_ / "whole").verify();
  for (const int threads : {1, 3}) {
    set_num_threads(threads);
    for (const int calls : {0, 5}) {
      const PrepareOptions some = options(fmt::format("data-{}-{}", threads, calls));
      int num_stops = 0;
      while (stop_after(calls, files, some)) {
        EXPECT_FALSE(fs::exists(some.out));
        ASSERT_LT(++num_stops, 1000);
      }
      EXPECT_GE(num_stops, 2);
      EXPECT_EQ(contents(some.out), expected) << threads << " threads, " << calls;
      EXPECT_FALSE(fs::exists(fs::path(some.out).concat(".owlet-prepare")));
    }
  }
}

TEST_F(PrepareResumeTest, GoesOnFromWhatAKilledProcessLeft) {
  const std::vector<fs::path> files = {folder_ / "stories.txt"};
  prepare_files(files, options("whole"));
  const std::string expected = contents(folder_ / "whole");
  // A copy of the working folder at some moment is what a process killed then would have left; files have grown behind
  // what the journal says, shards may be finished that it does not know.
  for (const double keep_seconds : {0.0, 0.02, 1000.0}) {
    PrepareOptions some = options("data");
    some.keep_seconds = keep_seconds;
    some.force = true;
    const fs::path work = folder_ / "data.owlet-prepare";
    int calls = 0;
    some.on_progress = [&](const PrepareProgress&) {
      if (++calls % 4 != 0) return;
      fs::copy(work, folder_ / fmt::format("left-{}", calls), fs::copy_options::recursive);
    };
    prepare_files(files, some);
    ASSERT_GE(calls, 9);
    some.on_progress = nullptr;
    for (int call = 4; call <= calls; call += 4) {
      fs::rename(folder_ / fmt::format("left-{}", call), work);
      prepare_files(files, some);
      EXPECT_EQ(contents(some.out), expected) << keep_seconds << " " << call;
    }
  }
}

TEST_F(PrepareResumeTest, TailSplitGoesOn) {
  PrepareOptions some = options("whole");
  some.split = SplitKind::tail;
  const std::vector<fs::path> files = {folder_ / "stories.txt", write("b.jsonl", rows(0, 1000))};
  prepare_files(files, some);
  const std::string expected = contents(some.out);
  some.out = folder_ / "data";
  int num_stops = 0;
  while (stop_after(3, files, some)) ASSERT_LT(++num_stops, 1000);
  EXPECT_GE(num_stops, 2);
  EXPECT_EQ(contents(some.out), expected);
}

TEST_F(PrepareResumeTest, UnfinishedWorkOfAnotherRequestIsRefused) {
  const std::vector<fs::path> files = {folder_ / "stories.txt"};
  ASSERT_TRUE(stop_after(2, files, options("data")));
  PrepareOptions other = options("data");
  other.seed = 9;
  EXPECT_NE(message_of([&] { prepare_files(files, other); }).find("'seed' is 9, was 0"), std::string::npos);
  // Neither threads nor memory nor skipping change what comes out.
  PrepareOptions same = options("data");
  same.memory_bytes = uint64_t{100} << 20;
  same.documents.skips_bad_records = true;
  ASSERT_TRUE(stop_after(1, files, same));
  write("stories.txt", read_file(folder_ / "stories.txt") + "<|endoftext|>one more");
  EXPECT_NE(message_of([&] { prepare_files(files, options("data")); }).find("'files' changed"), std::string::npos);
  other.restarts = true;
  const DatasetInfo info = prepare_files(files, other);
  EXPECT_EQ(info.documents, 601u);
  EXPECT_EQ(info.seed, 9u);
}

TEST_F(PrepareResumeTest, BadRowsStopWithTheirPlaceOrAreCounted) {
  const fs::path file = write("a.jsonl", rows(0, 1000) + "{\"text\": 7}\n" + rows(1000, 50) + "[1]\n{\"text\": \"cut");
  PrepareOptions some = options("data");
  some.chunk_bytes = 1000;
  EXPECT_NE(
      message_of([&] { prepare_files({file}, some); }).find("a.jsonl, line 1001: column 'text' is of type number"),
      std::string::npos);
  // What came before it is kept: the same command goes on behind it when bad rows may be skipped.
  some.documents.skips_bad_records = true;
  const DatasetInfo info = prepare_files({file}, some);
  EXPECT_EQ(info.documents, 1050u);
  ASSERT_EQ(info.skipped, 3u);
  ASSERT_EQ(info.skipped_places.size(), 3u);
  EXPECT_EQ(info.skipped_places[1].place, file.string() + ", line 1052");
  const DatasetInfo read = load_dataset(some.out).info();
  EXPECT_EQ(read.skipped_places[2].reason, info.skipped_places[2].reason);
  PrepareOptions column = options("column");
  column.documents.column = "story";
  EXPECT_NE(message_of([&] { prepare_files({file}, column); }).find("no column 'story'; there are: text"),
            std::string::npos);
}

TEST_F(PrepareResumeTest, DuplicatesAreCountedOrDropped) {
  std::string text;
  for (int i = 0; i < 300; ++i) text += fmt::format("Document {}.<|endoftext|>", i % 200);
  const fs::path file = write("twice.txt", text);
  const DatasetInfo counted = prepare_files({file}, options("counted"));
  EXPECT_EQ(counted.documents, 300u);
  EXPECT_EQ(counted.duplicates.within_train + counted.duplicates.within_validation, 100u);
  EXPECT_EQ(counted.duplicates.across, 0u);
  PrepareOptions dropping = options("dropped");
  dropping.drops_duplicates = true;
  dropping.chunk_bytes = 100;
  int num_stops = 0;
  while (stop_after(5, {file}, dropping)) ASSERT_LT(++num_stops, 1000);
  const DatasetInfo dropped = load_dataset(dropping.out).info();
  EXPECT_EQ(dropped.documents, 200u);
  EXPECT_EQ(dropped.train.documents + dropped.validation.documents, 200u);
  EXPECT_EQ(dropped.duplicates.within_train + dropped.duplicates.within_validation, 100u);
  // A tail split can part equal documents.
  PrepareOptions tail = options("tail");
  tail.split = SplitKind::tail;
  EXPECT_EQ(prepare_files({file}, tail).duplicates.across, 30u);
}

TEST_F(PrepareResumeTest, OneLargeDocumentIsEncodedInPartsToTheSameTokens) {
  const std::string stories = read_file(folder_ / "stories.txt");
  std::string large;
  while (large.size() < (size_t{7} << 20)) large += stories;
  BpeTrainerOptions training;
  training.vocab_size = 600;
  BpeTrainer trainer(training);
  trainer.add_document(stories);
  const Tokenizer tokenizer(trainer.train().definition);
  tokenizer.save(folder_ / "tokenizer");
  std::string json = "{\"text\": \"small\"}\n" + dump_json(Json{{"text", large}}) + "\n{\"text\": \"end\"}\n";
  for (const fs::path& file : {write("large.jsonl", json), write("large.txt", large)}) {
    PrepareOptions some = options("data" + file.extension().string());
    some.tokenizer = (folder_ / "tokenizer").string();
    some.split = SplitKind::documents;
    some.documents.separator = "none";
    some.validation_share = 0;
    some.tokens_per_shard = uint64_t{1} << 28;
    set_num_threads(3);
    const DatasetInfo info = prepare_files({file}, some);
    const Dataset dataset = load_dataset(some.out);
    dataset.verify();
    const std::vector<int32_t> ids = tokenizer.encode(large);
    const ShardReader& shard = dataset.train()->shards()[0];
    const uint64_t document = info.documents == 3 ? 1 : 0;
    const uint64_t begin = shard.document_start(document) + 1;
    ASSERT_EQ(shard.document_start(document + 1) - begin, ids.size());
    std::vector<int32_t> stored(ids.size());
    shard.copy_tokens(begin, stored.size(), stored.data());
    EXPECT_EQ(stored, ids);
  }
}

TEST_F(PrepareResumeTest, EmptyDocumentsAddNothing) {  // case B20
  const fs::path file = write("a.jsonl", "{\"text\": \"\"}\n{\"text\": \"hello\"}\n{\"text\": \"hello, world!\"}\n");
  PrepareOptions some = options("data");
  some.split = SplitKind::documents;
  some.validation_share = 0;
  const DatasetInfo info = prepare_files({file}, some);
  EXPECT_EQ(info.empty, 1u);
  EXPECT_EQ(info.tokens, 1u + 5 + 1 + 13);
}

TEST_F(PrepareResumeTest, FoldersAreReadInOrderAndOthersNamed) {
  write("in/b.txt", "b");
  write("in/a/x.jsonl", "{\"text\": \"x\"}\n");
  write("in/picture.png", "x");
  write("in/.hidden.txt", "hidden");
  write("in/README", "x");
  PrepareOptions some = options("data");
  some.validation_share = 0;
  const DatasetInfo info = prepare_files({folder_ / "in", folder_ / "in/b.txt"}, some);
  ASSERT_EQ(info.sources.size(), 2u);
  EXPECT_TRUE(info.sources[0].path.ends_with("in/a/x.jsonl"));
  EXPECT_EQ(info.passed_over, (std::map<std::string, uint64_t>{{".png", 1}, {"", 1}}));
  EXPECT_EQ(load_dataset(some.out).info().passed_over, info.passed_over);
  EXPECT_NE(message_of([&] { prepare_files({write("other/a.png", "x").parent_path()}, options("no")); }).find("1 .png"),
            std::string::npos);
}

TEST_F(PrepareResumeTest, TwoProcessesDoNotMeet) {
  PrepareOptions outer = options("data");
  bool was_refused = false;
  outer.on_progress = [&](const PrepareProgress&) {
    if (was_refused) return;
    PrepareOptions inner = options("data");
    was_refused = message_of([&] { prepare_files({folder_ / "stories.txt"}, inner); }).find("another process") !=
                  std::string::npos;
  };
  prepare_files({folder_ / "stories.txt"}, outer);
  EXPECT_TRUE(was_refused);
}

}  // namespace
}  // namespace owlet
