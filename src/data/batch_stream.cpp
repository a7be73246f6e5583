#include "data/batch_stream.hpp"

#include <algorithm>
#include <chrono>

#include "base/error.hpp"
#include "base/random.hpp"
#include "data/batch_rows.hpp"
#include "data/dataset.hpp"
#include "data/token_sequence.hpp"

namespace owlet {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

void check_sizes(int64_t batch_size, int64_t context) {
  check(batch_size >= 1 && context >= 1, ErrorKind::invalid_argument,
        "batch size {} and context {}: both must be at least 1", batch_size, context);
  check(context <= INT32_MAX / 2 && batch_size <= INT32_MAX / context, ErrorKind::invalid_argument,
        "batch size {} times context {} is more than one batch can hold", batch_size, context);
}

/// The windows of one epoch: where they lie and in which order they come.
struct EpochPlan {
  EpochPlan(uint64_t num_tokens, uint64_t context, uint64_t seed, uint64_t epoch)
      : phase(random_u64(seed, stream_id("batch phase"), epoch) % std::min(context, num_tokens - context)),
        stride(context),
        order((num_tokens - 1 - phase) / context, seed, stream_id("batch order") + epoch) {}
  uint64_t num_windows() const { return order.size(); }
  uint64_t window_begin(uint64_t position) const { return phase + order(position) * stride; }

  uint64_t phase, stride;
  RandomPermutation order;
};

class TrainingStream final : public BatchStream {
 public:
  TrainingStream(std::shared_ptr<const TokenSequence> tokens, const TrainingStreamOptions& options)
      : tokens_(std::move(tokens)),
        options_(options),
        rows_(*tokens_, options.context, options.cross_documents),
        plan_(plan_of(0)) {}

  Batch next() override {
    const auto start = Clock::now();
    Batch batch = rows_.make_batch(options_.batch_size);
    batch.epoch = state_.epoch;
    for (int64_t row = 0; row < options_.batch_size; ++row) {
      rows_.fill(batch, row, plan_.window_begin(state_.position), options_.context);
      if (++state_.position == plan_.num_windows()) {
        plan_ = plan_of(state_.epoch + 1);
        state_ = {state_.epoch + 1, 0};
      }
    }
    wait_seconds_ += seconds_since(start);
    return batch;
  }

  BatchStreamState state() const override { return state_; }

  void seek(BatchStreamState state) override {
    EpochPlan plan = plan_of(state.epoch);
    check(state.position < plan.num_windows(), ErrorKind::invalid_argument,
          "row {} of epoch {} asked, but that epoch has {} rows (is it the same data and context?)", state.position,
          state.epoch, plan.num_windows());
    plan_ = plan;
    state_ = state;
  }

  double data_wait_seconds() const override { return wait_seconds_; }

 private:
  EpochPlan plan_of(uint64_t epoch) const {
    return {tokens_->num_tokens(), static_cast<uint64_t>(options_.context), options_.seed, epoch};
  }

  std::shared_ptr<const TokenSequence> tokens_;
  TrainingStreamOptions options_;
  BatchRowWriter rows_;
  EpochPlan plan_;
  BatchStreamState state_;
  double wait_seconds_ = 0;
};

/// Rows of whole conversations.
class ConversationStream final : public BatchStream {
 public:
  ConversationStream(std::shared_ptr<const TokenSequence> tokens, const TrainingStreamOptions& options)
      : tokens_(std::move(tokens)),
        options_(options),
        rows_(*tokens_, options.context, options.cross_documents),
        packer_(*tokens_, static_cast<uint64_t>(options.context), "training"),
        plan_(packer_.shuffled_rows(options.seed, 0)) {}

  Batch next() override {
    const auto start = Clock::now();
    Batch batch = rows_.make_batch(options_.batch_size);
    batch.epoch = state_.epoch;
    std::vector<DocumentRange> documents;
    for (int64_t row = 0; row < options_.batch_size; ++row) {
      documents.clear();
      for (const uint32_t document : plan_.documents(state_.position)) documents.push_back(packer_.range(document));
      rows_.fill_documents(batch, row, documents);
      if (++state_.position == plan_.size()) {
        state_ = {state_.epoch + 1, 0};
        plan_ = packer_.shuffled_rows(options_.seed, state_.epoch);
      }
    }
    wait_seconds_ += seconds_since(start);
    return batch;
  }

  BatchStreamState state() const override { return state_; }

  void seek(BatchStreamState state) override {
    DocumentPacker::Rows plan = packer_.shuffled_rows(options_.seed, state.epoch);
    check(state.position < plan.size(), ErrorKind::invalid_argument,
          "row {} of epoch {} asked, but that epoch has {} rows (is it the same data and context?)", state.position,
          state.epoch, plan.size());
    plan_ = std::move(plan);
    state_ = state;
  }

  double data_wait_seconds() const override { return wait_seconds_; }

 private:
  std::shared_ptr<const TokenSequence> tokens_;
  TrainingStreamOptions options_;
  BatchRowWriter rows_;
  DocumentPacker packer_;
  DocumentPacker::Rows plan_;
  BatchStreamState state_;
  double wait_seconds_ = 0;
};

}  // namespace

std::unique_ptr<BatchStream> make_training_stream(const Dataset& dataset, const TrainingStreamOptions& options) {
  return make_training_stream(dataset.train(), options);
}

std::unique_ptr<BatchStream> make_training_stream(std::shared_ptr<const TokenSequence> tokens,
                                                  const TrainingStreamOptions& options) {
  check_sizes(options.batch_size, options.context);
  if (tokens->has_loss_mask()) return std::make_unique<ConversationStream>(std::move(tokens), options);
  const uint64_t needed = static_cast<uint64_t>(options.context) + 1;
  if (tokens->num_tokens() < needed) {
    throw Error(ErrorKind::invalid_argument,
                fmt::format("the training data has {} tokens, but one window of context {} needs {}",
                            tokens->num_tokens(), options.context, needed),
                "take a smaller context or more text");
  }
  return std::make_unique<TrainingStream>(std::move(tokens), options);
}

int64_t tokens_per_epoch(const Dataset& dataset, int64_t context) {
  const TokenSequence& tokens = *dataset.train();
  if (!tokens.has_loss_mask()) return static_cast<int64_t>(tokens.num_tokens());
  check_sizes(1, context);
  const DocumentPacker packer(tokens, static_cast<uint64_t>(context), "training");
  return static_cast<int64_t>(packer.rows_in_order().size()) * context;
}

PrefetchingBatchStream::PrefetchingBatchStream(std::unique_ptr<BatchStream> inner, int capacity)
    : inner_(std::move(inner)), capacity_(static_cast<size_t>(std::max(1, capacity))), state_(inner_->state()) {}

PrefetchingBatchStream::~PrefetchingBatchStream() { stop(); }

void PrefetchingBatchStream::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
  stopping_ = false;
  queue_.clear();
}

void PrefetchingBatchStream::seek(BatchStreamState state) {
  stop();
  inner_->seek(state_);  // back to the consumer's place, for the case that the next line throws
  inner_->seek(state);
  state_ = state;
}

void PrefetchingBatchStream::produce() {
  bool failed = false;
  while (!failed) {
    Item item;
    try {
      item.batch = inner_->next();
      item.state_after = inner_->state();
    } catch (...) {
      item.error = std::current_exception();
      failed = true;
    }
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return stopping_ || queue_.size() < capacity_; });
    if (stopping_) return;
    queue_.push_back(std::move(item));
    changed_.notify_all();
  }
}

Batch PrefetchingBatchStream::next() {
  const auto start = Clock::now();
  if (!thread_.joinable()) thread_ = std::thread([this] { produce(); });
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return !queue_.empty(); });
  wait_seconds_ += seconds_since(start);
  if (queue_.front().error) std::rethrow_exception(queue_.front().error);  // stays there: a second next() says the same
  Item item = std::move(queue_.front());
  queue_.pop_front();
  state_ = item.state_after;
  lock.unlock();
  changed_.notify_all();
  return std::move(item.batch);
}

EvaluationStream::EvaluationStream(const Dataset& dataset, const EvaluationStreamOptions& options)
    : EvaluationStream(dataset.validation(), dataset.token_byte_lengths(), options) {}

EvaluationStream::EvaluationStream(std::shared_ptr<const TokenSequence> tokens, std::vector<int32_t> token_byte_lengths,
                                   const EvaluationStreamOptions& options)
    : tokens_(std::move(tokens)), token_byte_lengths_(std::move(token_byte_lengths)), options_(options) {
  check_sizes(options.batch_size, options.context);
  check(tokens_->num_tokens() >= 2, ErrorKind::invalid_argument,
        "the validation data has {} tokens, at least 2 are needed", tokens_->num_tokens());
  check(token_byte_lengths_.empty() || token_byte_lengths_.size() >= tokens_->vocab_size(), ErrorKind::invalid_argument,
        "byte lengths of {} tokens given, the vocabulary has {}", token_byte_lengths_.size(), tokens_->vocab_size());
  if (tokens_->has_loss_mask()) {
    packer_ = std::make_shared<const DocumentPacker>(*tokens_, static_cast<uint64_t>(options.context), "validation");
    packed_rows_ = std::make_shared<const DocumentPacker::Rows>(packer_->rows_in_order());
    num_windows_ = static_cast<int64_t>(packed_rows_->size());
  } else {
    const int64_t num_targets = static_cast<int64_t>(tokens_->num_tokens()) - 1;
    num_windows_ = (num_targets + options.context - 1) / options.context;
  }
  total_batches_ = (num_windows_ + options.batch_size - 1) / options.batch_size;
  num_batches_ = options.max_batches > 0 ? std::min(options.max_batches, total_batches_) : total_batches_;
}

Batch EvaluationStream::batch(int64_t index) const {
  check(index >= 0 && index < num_batches_, ErrorKind::invalid_argument, "evaluation batch {} asked, there are {}",
        index, num_batches_);
  // Spread evenly: index * total / wanted, in 128 bits because both factors may be large.
  __extension__ using int128 = __int128;
  const int64_t spread = static_cast<int64_t>(static_cast<int128>(index) * total_batches_ / num_batches_);
  const int64_t first_window = spread * options_.batch_size;
  const int64_t num_rows = std::min(options_.batch_size, num_windows_ - first_window);
  BatchRowWriter rows(*tokens_, options_.context, options_.cross_documents);
  Batch batch = rows.make_batch(num_rows);
  std::vector<DocumentRange> documents;
  for (int64_t row = 0; row < num_rows; ++row) {
    if (packed_rows_) {
      documents.clear();
      for (const uint32_t document : packed_rows_->documents(static_cast<uint64_t>(first_window + row))) {
        documents.push_back(packer_->range(document));
      }
      rows.fill_documents(batch, row, documents);
      continue;
    }
    const int64_t begin = (first_window + row) * options_.context;
    const int64_t count = std::min(options_.context, static_cast<int64_t>(tokens_->num_tokens()) - 1 - begin);
    rows.fill(batch, row, static_cast<uint64_t>(begin), count);
  }
  for (const int32_t target : batch.targets) {
    if (target >= 0 && !token_byte_lengths_.empty()) {
      batch.target_bytes += token_byte_lengths_[static_cast<size_t>(target)];
    }
  }
  return batch;
}

}  // namespace owlet
