#include "train/random_data.hpp"

#include "base/error.hpp"
#include "base/random.hpp"

namespace owlet {
namespace {

class RandomStreamOfBatches final : public BatchStream {
 public:
  RandomStreamOfBatches(const Recipe& recipe, int64_t vocab_size, uint64_t seed)
      : empty_(make_synthetic_batch(recipe)), vocab_size_(vocab_size), seed_(seed) {}

  Batch next() override {
    Batch batch = empty_;
    for (int64_t row = 0; row < batch.batch_size; ++row) {
      fill_row(batch, static_cast<size_t>(row * batch.context), state_.position + static_cast<uint64_t>(row));
    }
    state_.position += static_cast<uint64_t>(batch.batch_size);
    return batch;
  }
  BatchStreamState state() const override { return state_; }
  void seek(BatchStreamState state) override { state_ = state; }
  double data_wait_seconds() const override { return 0; }

 private:
  int32_t drawn(RandomStream& numbers) const {
    const double u = numbers.next_double();
    return static_cast<int32_t>(static_cast<double>(vocab_size_) * u * u * u);
  }

  void fill_row(Batch& batch, size_t begin, uint64_t row) const {
    RandomStream numbers(seed_, stream_id("random training data"), row << 24);
    int32_t token = drawn(numbers);
    for (size_t i = begin; i < begin + static_cast<size_t>(batch.context); ++i) {
      batch.inputs[i] = token;
      const bool follows = numbers.next_double() < 0.5;
      token = follows ? static_cast<int32_t>((int64_t{token} * 7 + 1) % vocab_size_) : drawn(numbers);
      batch.targets[i] = token;
    }
  }

  Batch empty_;
  int64_t vocab_size_;
  uint64_t seed_;
  BatchStreamState state_;
};

}  // namespace

TrainingData make_random_training_data(const Recipe& recipe, int64_t vocab_size, uint64_t seed) {
  check(vocab_size >= 1, ErrorKind::invalid_argument, "random tokens of a vocabulary of {}", vocab_size);
  TrainingData data;
  data.vocab_size = vocab_size;
  data.training = std::make_unique<RandomStreamOfBatches>(recipe, vocab_size, seed);
  return data;
}

}  // namespace owlet
