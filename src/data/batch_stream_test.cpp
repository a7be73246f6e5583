#include "data/batch_stream.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <map>
#include <numeric>
#include <set>

#include "base/error.hpp"
#include "data/token_sequence.hpp"

namespace owlet {
namespace {

namespace fs = std::filesystem;
using Tokens = std::vector<int32_t>;

class BatchStreamTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / fmt::format("owlet-batches-{}", getpid());
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  /// One shard per entry; end-of-text id `mark`, or -1 for none.
  std::shared_ptr<const TokenSequence> sequence(const std::vector<std::vector<Tokens>>& shards, int64_t mark = 9999) {
    std::vector<ShardReader> readers;
    for (const auto& documents : shards) {
      const fs::path path = folder_ / fmt::format("{}.owl", num_files_++);
      ShardWriter writer(path, 10000, 1, mark);
      for (const Tokens& document : documents) writer.add_document(document, 1);
      writer.commit();
      readers.emplace_back(path);
    }
    return std::make_shared<const TokenSequence>(std::move(readers));
  }

  /// Tokens 1 … count without marks, in one document per entry of `parts` and shard.
  std::shared_ptr<const TokenSequence> counting(std::vector<int32_t> parts) {
    std::vector<std::vector<Tokens>> shards;
    int32_t next = 1;
    for (const int32_t count : parts) {
      Tokens document(static_cast<size_t>(count));
      std::iota(document.begin(), document.end(), next);
      next += count;
      shards.push_back({document});
    }
    return sequence(shards, -1);
  }

  fs::path folder_;
  int num_files_ = 0;
};

void expect_equal(const Batch& a, const Batch& b) {
  EXPECT_EQ(a.inputs, b.inputs);
  EXPECT_EQ(a.targets, b.targets);
  EXPECT_EQ(a.positions, b.positions);
  EXPECT_EQ(a.document_starts, b.document_starts);
  EXPECT_EQ(a.num_valid, b.num_valid);
  EXPECT_EQ(a.epoch, b.epoch);
}

TEST_F(BatchStreamTest, EachWindowOncePerEpochAndNothingBeyondTheEnd) {
  const auto tokens = counting({94});  // the case of the reports: 94 tokens, windows of 5
  const auto stream = make_training_stream(tokens, {.batch_size = 1, .context = 5, .seed = 3});
  std::map<uint64_t, std::set<int32_t>> first_tokens;
  std::set<std::vector<int32_t>> orders;
  std::vector<int32_t> order;
  uint64_t epoch = 0;
  while (epoch < 4) {
    const Batch batch = stream->next();
    if (batch.epoch != epoch) {
      orders.insert(order);
      order.clear();
      epoch = batch.epoch;
    }
    if (epoch == 4) break;
    ASSERT_EQ(batch.num_valid, 5);
    for (size_t t = 0; t < 5; ++t) {
      ASSERT_EQ(batch.inputs[t], batch.inputs[0] + static_cast<int32_t>(t));
      ASSERT_EQ(batch.targets[t], batch.inputs[t] + 1);
      ASSERT_LE(batch.targets[t], 94);
    }
    EXPECT_TRUE(first_tokens[epoch].insert(batch.inputs[0]).second) << "twice in epoch " << epoch;
    order.push_back(batch.inputs[0]);
  }
  EXPECT_EQ(orders.size(), 4u) << "every epoch has its own order";
  for (const auto& [number, firsts] : first_tokens) {
    const int32_t phase = *firsts.begin() - 1;
    EXPECT_LT(phase, 5);
    EXPECT_EQ(static_cast<int32_t>(firsts.size()), (93 - phase) / 5);
    for (const int32_t first : firsts) EXPECT_EQ((first - 1 - phase) % 5, 0);
  }
}

TEST_F(BatchStreamTest, WindowsCrossShards) {
  const auto tokens = counting({3, 1, 7, 2});
  const auto stream = make_training_stream(tokens, {.batch_size = 2, .context = 6, .seed = 1, .cross_documents = true});
  const Batch batch = stream->next();
  for (size_t row = 0; row < 2; ++row) {
    for (size_t t = 0; t + 1 < 6; ++t) EXPECT_EQ(batch.inputs[row * 6 + t] + 1, batch.inputs[row * 6 + t + 1]);
  }
}

TEST_F(BatchStreamTest, WrapsAndCountsEpochs) {
  const auto tokens = counting({26});  // five windows without a phase, never fewer than four
  const auto stream = make_training_stream(tokens, {.batch_size = 3, .context = 5});
  uint64_t last_epoch = 0;
  for (int i = 0; i < 25; ++i) {
    const Batch batch = stream->next();
    EXPECT_EQ(batch.inputs.size(), 15u);
    EXPECT_GE(batch.epoch, last_epoch);
    last_epoch = batch.epoch;
  }
  EXPECT_GE(last_epoch, 14u);
  EXPECT_LE(last_epoch, 18u);
}

TEST_F(BatchStreamTest, TooLittleDataIsRefusedWithBothCounts) {
  const auto tokens = counting({8});
  EXPECT_NO_THROW(make_training_stream(tokens, {.batch_size = 1, .context = 7})->next());
  try {
    make_training_stream(tokens, {.batch_size = 1, .context = 8});
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "the training data has 8 tokens, but one window of context 8 needs 9");
  }
  EXPECT_THROW(make_training_stream(sequence({}), {.batch_size = 1, .context = 8}), Error);
  EXPECT_THROW(make_training_stream(tokens, {.batch_size = 0, .context = 4}), Error);
  EXPECT_THROW(make_training_stream(tokens, {.batch_size = int64_t{1} << 40, .context = int64_t{1} << 30}), Error);
}

TEST_F(BatchStreamTest, DocumentBordersAreMarked) {
  const auto tokens = sequence({{{1, 2}, {3, 4, 5}, {6}}});  // M 1 2 M 3 4 5 M 6
  const auto stream = make_training_stream(tokens, {.batch_size = 1, .context = 8});
  const Batch batch = stream->next();
  EXPECT_EQ(batch.inputs, (Tokens{9999, 1, 2, 9999, 3, 4, 5, 9999}));
  EXPECT_EQ(batch.targets, (Tokens{1, 2, 9999, 3, 4, 5, 9999, 6}));
  EXPECT_EQ(batch.document_starts, (Tokens{0, 0, 0, 3, 3, 3, 3, 7}));
  EXPECT_EQ(batch.positions, (Tokens{0, 1, 2, 0, 1, 2, 3, 0}));
  EXPECT_EQ(batch.num_valid, 8);
  const auto crossing = make_training_stream(tokens, {.batch_size = 1, .context = 8, .cross_documents = true});
  const Batch crossed = crossing->next();
  EXPECT_EQ(crossed.document_starts, Tokens(8, 0));
  EXPECT_EQ(crossed.positions, (Tokens{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(crossed.targets, batch.targets);
}

TEST_F(BatchStreamTest, WithoutEndOfTextTheTargetAcrossABorderIsIgnored) {
  const auto tokens = sequence({{{1, 2}, {3, 4, 5}, {6}}}, -1);
  for (const bool cross : {false, true}) {
    const auto stream = make_training_stream(tokens, {.batch_size = 1, .context = 5, .cross_documents = cross});
    const Batch batch = stream->next();
    EXPECT_EQ(batch.inputs, (Tokens{1, 2, 3, 4, 5}));
    EXPECT_EQ(batch.targets, (Tokens{2, -1, 4, 5, -1}));
    EXPECT_EQ(batch.num_valid, 3);
    EXPECT_EQ(batch.document_starts, cross ? Tokens(5, 0) : (Tokens{0, 0, 2, 2, 2}));
  }
}

TEST_F(BatchStreamTest, SeekContinuesAtOnceAcrossEpochs) {
  const auto tokens = counting({50, 41});
  const TrainingStreamOptions options{.batch_size = 4, .context = 5, .seed = 7};
  const auto straight = make_training_stream(tokens, options);
  for (int i = 0; i < 20; ++i) {
    const BatchStreamState state = straight->state();
    const Batch expected = straight->next();
    const auto resumed = make_training_stream(tokens, options);
    resumed->seek(state);
    EXPECT_EQ(resumed->state(), state);
    expect_equal(resumed->next(), expected);
    EXPECT_EQ(resumed->state(), straight->state());
  }
  EXPECT_GE(straight->state().epoch, 3u);
  EXPECT_THROW(straight->seek({.epoch = 0, .position = 18}), Error);
  const auto far = make_training_stream(tokens, options);
  far->seek({.epoch = 1000000, .position = 3});
  EXPECT_EQ(far->next().epoch, 1000000u);
}

TEST_F(BatchStreamTest, SeedChangesTheOrder) {
  const auto tokens = counting({500});
  const auto first = make_training_stream(tokens, {.batch_size = 16, .context = 5, .seed = 1})->next();
  EXPECT_NE(first.inputs, make_training_stream(tokens, {.batch_size = 16, .context = 5, .seed = 2})->next().inputs);
  EXPECT_EQ(first.inputs, make_training_stream(tokens, {.batch_size = 16, .context = 5, .seed = 1})->next().inputs);
}

/// Counts reads, is slow on request, and fails at a chosen batch.
class TestStream final : public BatchStream {
 public:
  explicit TestStream(std::atomic<int>& reads, uint64_t fail_at = UINT64_MAX, int delay_ms = 0)
      : reads_(reads), fail_at_(fail_at), delay_ms_(delay_ms) {}
  Batch next() override {
    ++reads_;
    std::this_thread::sleep_for(std::chrono::milliseconds(delay_ms_));
    check(position_ != fail_at_, ErrorKind::corrupt_file, "batch {} is broken", position_);
    Batch batch;
    batch.num_valid = static_cast<int64_t>(position_++);
    return batch;
  }
  BatchStreamState state() const override { return {.epoch = 0, .position = position_}; }
  void seek(BatchStreamState state) override {
    check(state.position < 1000, ErrorKind::invalid_argument, "no such place");
    position_ = state.position;
  }
  double data_wait_seconds() const override { return 0; }

 private:
  std::atomic<int>& reads_;
  uint64_t fail_at_, position_ = 0;
  int delay_ms_;
};

TEST_F(BatchStreamTest, PrefetchStateBelongsToWhatWasHandedOut) {
  std::atomic<int> reads = 0;
  PrefetchingBatchStream stream(std::make_unique<TestStream>(reads), 3);
  EXPECT_EQ(reads, 0);  // nothing is read before the first next(): a resume restores its place first
  stream.seek({.epoch = 0, .position = 40});
  EXPECT_EQ(reads, 0);
  for (int64_t i = 40; i < 60; ++i) {
    EXPECT_EQ(stream.next().num_valid, i);
    EXPECT_EQ(stream.state().position, static_cast<uint64_t>(i + 1));
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_LE(reads, 20 + 3 + 1);
  stream.seek({.epoch = 0, .position = 5});
  EXPECT_EQ(stream.state().position, 5u);
  EXPECT_EQ(stream.next().num_valid, 5);
  EXPECT_THROW(stream.seek({.epoch = 0, .position = 5000}), Error);
  EXPECT_EQ(stream.next().num_valid, 6);
}

TEST_F(BatchStreamTest, PrefetchGivesTheSameBatches) {
  const auto tokens = counting({300});
  const TrainingStreamOptions options{.batch_size = 4, .context = 5, .seed = 7};
  const auto plain = make_training_stream(tokens, options);
  const auto ahead = prefetched(make_training_stream(tokens, options));
  for (int i = 0; i < 50; ++i) {
    expect_equal(ahead->next(), plain->next());
    EXPECT_EQ(ahead->state(), plain->state());
  }
}

TEST_F(BatchStreamTest, PrefetchHandsErrorsToTheirBatch) {
  std::atomic<int> reads = 0;
  PrefetchingBatchStream stream(std::make_unique<TestStream>(reads, 3), 2);
  for (int64_t i = 0; i < 3; ++i) EXPECT_EQ(stream.next().num_valid, i);
  EXPECT_THROW(stream.next(), Error);
  EXPECT_THROW(stream.next(), Error);
  EXPECT_EQ(stream.state().position, 3u);
  stream.seek({.epoch = 0, .position = 7});
  EXPECT_EQ(stream.next().num_valid, 7);
}

TEST_F(BatchStreamTest, PrefetchCountsWaitingAndStopsCleanly) {
  std::atomic<int> reads = 0;
  {
    PrefetchingBatchStream stream(std::make_unique<TestStream>(reads, UINT64_MAX, 20), 4);
    stream.next();
    EXPECT_GE(stream.data_wait_seconds(), 0.015);
  }
  { PrefetchingBatchStream never_used(std::make_unique<TestStream>(reads)); }
}

TEST_F(BatchStreamTest, EvaluationScoresEveryTokenOnce) {
  for (const int32_t count : {2, 7, 29, 30, 31, 94}) {
    for (const int64_t batch_size : {1, 3, 8}) {
      const EvaluationStream stream(counting({count}), {}, {.batch_size = batch_size, .context = 5});
      Tokens scored;
      int64_t num_valid = 0;
      for (int64_t i = 0; i < stream.num_batches(); ++i) {
        const Batch batch = stream.batch(i);
        EXPECT_EQ(batch.inputs.size(), static_cast<size_t>(batch.batch_size * 5));
        EXPECT_LE(batch.batch_size, batch_size);
        num_valid += batch.num_valid;
        for (size_t t = 0; t < batch.targets.size(); ++t) {
          if (batch.targets[t] < 0) continue;
          scored.push_back(batch.targets[t]);
          EXPECT_EQ(batch.inputs[t] + 1, batch.targets[t]);
        }
      }
      Tokens expected(static_cast<size_t>(count - 1));
      std::iota(expected.begin(), expected.end(), 2);
      EXPECT_EQ(scored, expected);
      EXPECT_EQ(num_valid, count - 1);
    }
  }
}

TEST_F(BatchStreamTest, EvaluationPadsWithItsOwnDocument) {
  const EvaluationStream stream(counting({4}), {}, {.batch_size = 2, .context = 5});
  ASSERT_EQ(stream.num_batches(), 1);
  const Batch batch = stream.batch(0);
  EXPECT_EQ(batch.inputs, (Tokens{1, 2, 3, 0, 0}));
  EXPECT_EQ(batch.targets, (Tokens{2, 3, 4, -1, -1}));
  EXPECT_EQ(batch.document_starts, (Tokens{0, 0, 0, 3, 3}));
  EXPECT_EQ(batch.num_valid, 3);
}

TEST_F(BatchStreamTest, EvaluationCountsBytesAndSpreadsALimit) {
  const auto tokens = counting({101});
  const std::vector<int32_t> lengths(10000, 3);
  const EvaluationStream stream(tokens, lengths, {.batch_size = 2, .context = 5, .max_batches = 4});
  EXPECT_EQ(stream.num_batches(), 4);
  std::vector<int32_t> firsts;
  for (int64_t i = 0; i < 4; ++i) {
    const Batch batch = stream.batch(i);
    EXPECT_EQ(batch.target_bytes, batch.num_valid * 3);
    firsts.push_back(batch.inputs[0]);
  }
  EXPECT_EQ(firsts, (Tokens{1, 21, 51, 71}));
  EXPECT_THROW(stream.batch(4), Error);
  EXPECT_THROW(EvaluationStream(sequence({}), {}, {.batch_size = 1, .context = 5}), Error);
}

}  // namespace
}  // namespace owlet
