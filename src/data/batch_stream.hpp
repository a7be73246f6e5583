// Batches of token windows: training streams that can stop and go on anywhere, and the evaluation stream.
//
//   Dataset dataset = load_dataset("stories");
//   auto stream = prefetched(make_training_stream(dataset, {.batch_size = 12, .context = 64, .seed = 1}));
//   Batch batch = stream->next();                       // wraps into the next epoch for ever
//   BatchStreamState place = stream->state();           // two integers; stream->seek(place) goes on from here
//
// Documents begin with the end-of-text token (data/shard.hpp), so the last token of a document predicts end-of-text.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "data/document_packing.hpp"

namespace owlet {

class Dataset;
class TokenSequence;

/// B rows of T tokens, row-major: element (b, t) stands at b * context + t.
struct Batch {
  int64_t batch_size = 0;                ///< rows B; the last batch of an evaluation may have fewer rows than asked for
  int64_t context = 0;                   ///< tokens T per row
  std::vector<int32_t> inputs;           ///< (B, T) token ids
  std::vector<int32_t> targets;          ///< (B, T) the next token, or -1 where nothing is to be predicted
  std::vector<int32_t> positions;        ///< (B, T) position inside the token's document within this row, from 0
  std::vector<int32_t> document_starts;  ///< (B, T) index within the row of the first token of this token's document
  int64_t num_valid = 0;                 ///< targets that are not -1
  int64_t target_bytes = 0;              ///< text bytes of the valid targets, where the stream knows them (evaluation)
  uint64_t epoch = 0;                    ///< passes over the data completed before the first row
};

/// The place of a stream: the next row it would hand out.
struct BatchStreamState {
  uint64_t epoch = 0;     ///< completed passes
  uint64_t position = 0;  ///< rows already handed out in this pass
  bool operator==(const BatchStreamState&) const = default;
};

/// A resumable producer of batches without end. next() after seek(s) gives what it gave when state() was s.
/// Not thread-safe.
class BatchStream {
 public:
  virtual ~BatchStream() = default;
  /// The next batch. Throws what reading the data throws.
  virtual Batch next() = 0;
  /// The place after the last batch handed out.
  virtual BatchStreamState state() const = 0;
  /// Goes to a place at once, without reading what lies before it. Throws invalid_argument for a place that the
  /// stream does not have.
  virtual void seek(BatchStreamState state) = 0;
  /// Seconds that next() has spent waiting for data since the stream was made.
  virtual double data_wait_seconds() const = 0;
};

struct TrainingStreamOptions {
  int64_t batch_size = 1;
  int64_t context = 1;
  uint64_t seed = 0;
  /// True: attention may look into earlier documents of the row; document_starts are then all 0 and positions run on.
  bool cross_documents = false;
};

/// Windows of T + 1 tokens at stride T over all training shards in a random order that is new in each epoch, with a
/// random phase in [0, T) per epoch, each window exactly once per epoch. Order and phase are pure functions of (seed,
/// epoch). A batch may hold the last rows of one epoch and the first of the next.
/// Throws invalid_argument if the training tokens do not fill one window (both counts in the message).
/// Conversations (shards with a loss mask) stay whole: each row holds as many as fit (document_packing.hpp), only
/// trained tokens are targets, and one that is longer than a row is an error.
std::unique_ptr<BatchStream> make_training_stream(const Dataset& dataset, const TrainingStreamOptions& options);

/// The same over any token sequence.
std::unique_ptr<BatchStream> make_training_stream(std::shared_ptr<const TokenSequence> tokens,
                                                  const TrainingStreamOptions& options);

/// Tokens of rows that one pass over the training data takes: for conversations with the padding behind them. Throws
/// invalid_argument where a conversation is longer than a row.
int64_t tokens_per_epoch(const Dataset& dataset, int64_t context);

/// Runs another stream on a background thread, up to `capacity` batches ahead. state() is the place after the last
/// batch handed out, not after the last one read ahead; the first read happens at the first next(), so a seek() before
/// it costs nothing. An exception of the inner stream is thrown by the next() that would have given its batch.
class PrefetchingBatchStream final : public BatchStream {
 public:
  explicit PrefetchingBatchStream(std::unique_ptr<BatchStream> inner, int capacity = 3);
  ~PrefetchingBatchStream() override;
  Batch next() override;
  BatchStreamState state() const override { return state_; }
  void seek(BatchStreamState state) override;
  double data_wait_seconds() const override { return wait_seconds_; }

 private:
  struct Item {
    Batch batch;
    BatchStreamState state_after;
    std::exception_ptr error;
  };
  void produce();
  void stop();

  std::unique_ptr<BatchStream> inner_;
  size_t capacity_;
  BatchStreamState state_;
  double wait_seconds_ = 0;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Item> queue_;
  bool stopping_ = false;
  std::thread thread_;
};

inline std::unique_ptr<BatchStream> prefetched(std::unique_ptr<BatchStream> inner, int capacity = 3) {
  return std::make_unique<PrefetchingBatchStream>(std::move(inner), capacity);
}

struct EvaluationStreamOptions {
  int64_t batch_size = 1;
  int64_t context = 1;
  bool cross_documents = false;
  int64_t max_batches = 0;  ///< 0: all; otherwise that many batches spread evenly over the set
};

/// One pass over the validation tokens in order: windows of T tokens at stride T, every token but the very first scored
/// exactly once, the last window padded with targets -1. Independent of training: no random numbers, no shared state.
/// Conversations: rows of whole ones, every trained token scored exactly once.
class EvaluationStream {
 public:
  /// Throws invalid_argument if the dataset has no validation tokens to score.
  EvaluationStream(const Dataset& dataset, const EvaluationStreamOptions& options);
  /// `token_byte_lengths` (one per id of the vocabulary) fills Batch::target_bytes; may be empty.
  EvaluationStream(std::shared_ptr<const TokenSequence> tokens, std::vector<int32_t> token_byte_lengths,
                   const EvaluationStreamOptions& options);
  int64_t num_batches() const { return num_batches_; }
  /// Batch `index` in [0, num_batches()); any order, as often as wanted.
  Batch batch(int64_t index) const;

 private:
  std::shared_ptr<const TokenSequence> tokens_;
  std::vector<int32_t> token_byte_lengths_;
  EvaluationStreamOptions options_;
  std::shared_ptr<const DocumentPacker> packer_;  ///< conversations only
  std::shared_ptr<const DocumentPacker::Rows> packed_rows_;
  int64_t num_windows_ = 0, total_batches_ = 0, num_batches_ = 0;
};

}  // namespace owlet
