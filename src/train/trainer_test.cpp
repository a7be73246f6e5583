#include "train/trainer.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>

#include "backends/cpu/cpu_backend.hpp"
#include "base/error.hpp"
#include "ops/any_op.hpp"
#include "tests/support/tiny_training.hpp"

namespace owlet {
namespace {

using testing::make_tiny_dataset;
using testing::tiny_recipe;

/// The CPU backend, with the losses of chosen head operations replaced by NaN.
class PoisonedBackend final : public Backend {
 public:
  explicit PoisonedBackend(std::set<int> poisoned_calls)
      : inner_(make_cpu_backend()), poisoned_calls_(std::move(poisoned_calls)) {}
  std::string_view name() const override { return "poisoned"; }
  void run(const AnyOp& op) override {
    if (const auto* norm = std::get_if<op::SquaredNorm>(&op.variant); norm != nullptr && poisons_gradients) {
      norm->x.data<float>()[0] = std::numeric_limits<float>::infinity();
    }
    inner_->run(op);
    if (const auto* head = std::get_if<op::LinearCrossEntropy>(&op.variant)) {
      if (poisoned_calls_.contains(num_calls_++))
        head->losses.data<float>()[1] = std::numeric_limits<float>::quiet_NaN();
    }
    if (std::holds_alternative<op::SquaredNorm>(op.variant)) ++num_norms;
    if (std::holds_alternative<op::AdamW>(op.variant)) updates.push_back(std::get<op::AdamW>(op.variant));
  }
  bool supports(const AnyOp& op) const override { return inner_->supports(op); }
  CachingAllocator& allocator() override { return inner_->allocator(); }
  void write(const Tensor& tensor, const void* source) override { inner_->write(tensor, source); }
  void read(const Tensor& tensor, void* target) override { inner_->read(tensor, target); }

  std::vector<op::AdamW> updates;
  int num_norms = 0;
  bool poisons_gradients = false;

 private:
  std::unique_ptr<Backend> inner_;
  std::set<int> poisoned_calls_;
  int num_calls_ = 0;
};

/// One open tiny data folder for all tests.
const Dataset& tiny_dataset() {
  static TemporaryFolder folder;
  static const Dataset dataset = make_tiny_dataset(folder.path());
  return dataset;
}

Trainer make_trainer(Backend& backend, const Recipe& recipe) {
  return {backend, recipe, make_training_data(tiny_dataset(), recipe)};
}

std::vector<float> values_of(Backend& backend, const Tensor& tensor) {
  std::vector<float> values(static_cast<size_t>(tensor.num_elements()));
  backend.read(tensor, values.data());
  return values;
}

/// All master weights (or gradients, or moments) one after the other.
std::vector<float> all_weights(Trainer& trainer) {
  std::vector<float> all;
  for (const Parameter& parameter : trainer.model().parameters().all()) {
    Context ctx(trainer.backend());
    const Tensor values = read_on_host(ctx, parameter);
    all.insert(all.end(), values.data<float>(), values.data<float>() + values.num_elements());
  }
  return all;
}

std::vector<float> all_gradients(Trainer& trainer) {
  std::vector<float> all;
  for (const Parameter& parameter : trainer.model().parameters().all()) {
    const std::vector<float> values = values_of(trainer.backend(), parameter.gradient);
    all.insert(all.end(), values.begin(), values.end());
  }
  return all;
}

double distance(const std::vector<float>& a, const std::vector<float>& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += std::pow(static_cast<double>(a[i]) - static_cast<double>(b[i]), 2);
  return std::sqrt(sum);
}

double norm(const std::vector<float>& a) { return distance(a, std::vector<float>(a.size(), 0.0f)); }

TEST(Trainer, loss_starts_at_the_entropy_of_the_vocabulary_and_falls) {
  for (const DType precision : {DType::f32, DType::bf16}) {
    const auto backend = make_cpu_backend();
    Trainer trainer = make_trainer(*backend, tiny_recipe(60, precision));
    StepReport report = trainer.step();
    EXPECT_NEAR(report.loss, std::log(257.0), 0.2);
    EXPECT_EQ(report.step, 1);
    EXPECT_EQ(report.total_steps, 60);
    EXPECT_GT(report.gradient_norm, 0);
    EXPECT_EQ(report.tokens, report.step_tokens);
    EXPECT_GT(report.tokens_per_second, 0);
    while (trainer.state().step < 60) report = trainer.step();
    EXPECT_LT(report.loss, 3.0);
    EXPECT_EQ(trainer.state().updates, 60);
  }
}

TEST(Trainer, accumulated_micro_batches_give_the_gradient_of_one_large_batch) {
  Recipe together = tiny_recipe();
  together.data.batch = 8;
  Recipe parted = tiny_recipe();
  parted.data.batch = 2;
  parted.data.accumulation = 4;
  const auto backend = make_cpu_backend();
  Trainer one = make_trainer(*backend, together), four = make_trainer(*backend, parted);
  const StepReport a = one.step(), b = four.step();
  EXPECT_EQ(a.step_tokens, b.step_tokens);
  EXPECT_NEAR(a.loss, b.loss, 1e-5);
  EXPECT_NEAR(a.gradient_norm, b.gradient_norm, 1e-5 * a.gradient_norm);
  EXPECT_LT(distance(all_gradients(one), all_gradients(four)), 1e-5 * norm(all_gradients(one)));
}

TEST(Trainer, micro_batches_weigh_by_their_valid_tokens) {
  // Documents of one byte parted so that rows differ in valid targets would be rare; masks do it directly.
  class MaskedStream final : public BatchStream {
   public:
    MaskedStream(Batch batch, int64_t rows) : batch_(std::move(batch)), rows_(rows) {}
    Batch next() override {
      Batch part;
      part.batch_size = rows_;
      part.context = batch_.context;
      const auto begin = static_cast<std::ptrdiff_t>(next_ * batch_.context);
      const auto end = begin + static_cast<std::ptrdiff_t>(rows_ * batch_.context);
      const auto cut = [&](const std::vector<int32_t>& all) {
        return std::vector<int32_t>(all.begin() + begin, all.begin() + end);
      };
      part.inputs = cut(batch_.inputs);
      part.targets = cut(batch_.targets);
      part.positions = cut(batch_.positions);
      part.document_starts = cut(batch_.document_starts);
      part.num_valid = std::ranges::count_if(part.targets, [](int32_t target) { return target >= 0; });
      next_ = (next_ + rows_) % batch_.batch_size;
      return part;
    }
    BatchStreamState state() const override { return {}; }
    void seek(BatchStreamState) override {}
    double data_wait_seconds() const override { return 0; }

   private:
    Batch batch_;
    int64_t rows_, next_ = 0;
  };
  Recipe recipe = tiny_recipe();
  recipe.data.batch = 4;
  Batch batch = make_synthetic_batch(recipe);
  for (size_t i = 0; i < batch.inputs.size(); ++i) {
    batch.inputs[i] = static_cast<int32_t>((i * 7) % 50);
    batch.targets[i] = i % 16 < 15 - 4 * (i / 16) ? static_cast<int32_t>((i * 11) % 50) : -1;
  }
  const auto gradients = [&](int64_t rows) {
    Recipe parted = recipe;
    parted.data.batch = rows;
    parted.data.accumulation = 4 / rows;
    const auto backend = make_cpu_backend();
    Trainer trainer(*backend, parted, {std::make_unique<MaskedStream>(batch, rows), nullptr, 257, {}});
    EXPECT_EQ(trainer.step().step_tokens, 15 + 11 + 7 + 3);
    return all_gradients(trainer);
  };
  const std::vector<float> whole = gradients(4);
  EXPECT_LT(distance(whole, gradients(1)), 1e-5 * norm(whole));
  EXPECT_LT(distance(whole, gradients(2)), 1e-5 * norm(whole));
}

TEST(Trainer, clips_once_per_step_by_the_norm_of_the_whole_gradient) {
  Recipe recipe = tiny_recipe();
  recipe.data.accumulation = 3;
  recipe.optimizer.clip = 0.01;
  PoisonedBackend backend({});
  Trainer trainer = make_trainer(backend, recipe);
  const StepReport report = trainer.step();
  ASSERT_GT(report.gradient_norm, 0.01);
  EXPECT_EQ(backend.num_norms, static_cast<int>(trainer.optimizer().moments().size()));
  ASSERT_EQ(backend.updates.size(), trainer.optimizer().moments().size());
  for (const op::AdamW& update : backend.updates) {
    EXPECT_FLOAT_EQ(update.gradient_scale, static_cast<float>(0.01 / report.gradient_norm));
  }
  EXPECT_NEAR(norm(all_gradients(trainer)), report.gradient_norm, 1e-5 * report.gradient_norm);
}

TEST(Trainer, weight_decay_leaves_gains_alone) {
  Recipe recipe = tiny_recipe();
  recipe.optimizer.weight_decay = 0.1;
  PoisonedBackend backend({});
  Trainer trainer = make_trainer(backend, recipe);
  trainer.step();
  size_t num_gains = 0;
  for (const op::AdamW& update : backend.updates) {
    const bool is_matrix = update.weight.shape().rank() >= 2;
    num_gains += is_matrix ? 0 : 1;
    EXPECT_EQ(update.weight_decay, is_matrix ? 0.1f : 0.0f);
  }
  EXPECT_EQ(num_gains, 5u);
}

TEST(Trainer, a_loss_that_is_not_finite_skips_the_whole_step_and_training_goes_on) {
  Recipe recipe = tiny_recipe();
  recipe.data.accumulation = 4;
  PoisonedBackend backend({4 + 1});  // the second micro-batch of the second step
  Trainer trainer = make_trainer(backend, recipe);
  trainer.step();
  const std::vector<float> before = all_weights(trainer);
  const std::vector<float> m_before = values_of(backend, trainer.optimizer().moments()[0].m);
  backend.updates.clear();
  const BatchStreamState place = trainer.state().stream;

  const StepReport skipped = trainer.step();
  EXPECT_TRUE(skipped.is_skipped);
  EXPECT_TRUE(std::isnan(skipped.loss));
  EXPECT_EQ(skipped.consecutive_skips, 1);
  EXPECT_EQ(all_weights(trainer), before);
  EXPECT_EQ(values_of(backend, trainer.optimizer().moments()[0].m), m_before);
  EXPECT_TRUE(backend.updates.empty());
  EXPECT_EQ(trainer.state().updates, 1);
  EXPECT_EQ(trainer.state().stream.position, place.position + 16);

  const StepReport next = trainer.step();
  EXPECT_FALSE(next.is_skipped);
  EXPECT_EQ(next.consecutive_skips, 0);
  EXPECT_EQ(backend.updates.front().step, 2);
  EXPECT_EQ(trainer.state().skipped, 1);
  for (const float weight : all_weights(trainer)) ASSERT_TRUE(std::isfinite(weight));
}

TEST(Trainer, an_infinite_gradient_skips_the_step) {
  PoisonedBackend backend({});
  Trainer trainer = make_trainer(backend, tiny_recipe());
  const std::vector<float> before = all_weights(trainer);
  backend.poisons_gradients = true;
  const StepReport report = trainer.step();
  EXPECT_TRUE(report.is_skipped);
  EXPECT_TRUE(std::isfinite(report.loss));
  EXPECT_TRUE(std::isinf(report.gradient_norm));
  EXPECT_EQ(all_weights(trainer), before);
  backend.poisons_gradients = false;
  EXPECT_FALSE(trainer.step().is_skipped);
}

TEST(Trainer, too_many_skips_in_a_row_are_an_error) {
  Recipe recipe = tiny_recipe();
  recipe.optimizer.skip_limit = 3;
  PoisonedBackend backend({0, 1, 3, 4, 5});
  Trainer trainer = make_trainer(backend, recipe);
  for (int i = 0; i < 5; ++i) {
    trainer.step();
    EXPECT_NO_THROW(trainer.check_skips());
  }
  trainer.step();
  try {
    trainer.check_skips();
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("not finite in 3 steps one after the other"), std::string::npos);
    EXPECT_FALSE(error.hint().empty());
  }
}

TEST(Trainer, evaluation_does_not_depend_on_the_batch_size) {
  const auto backend = make_cpu_backend();
  std::vector<EvaluationResult> results;
  for (const int64_t batch : {1, 3, 8}) {
    Recipe recipe = tiny_recipe();
    recipe.data.batch = batch;
    Trainer trainer = make_trainer(*backend, recipe);
    results.push_back(trainer.evaluate());
  }
  const auto tokens = static_cast<int64_t>(tiny_dataset().info().validation.tokens);
  for (const EvaluationResult& result : results) {
    EXPECT_EQ(result.tokens, tokens - 1);
    EXPECT_NEAR(result.loss, results[0].loss, 1e-5);
    EXPECT_NEAR(result.bits_per_byte, results[0].bits_per_byte, 1e-5);
    EXPECT_EQ(result.bytes, static_cast<int64_t>(tiny_dataset().info().validation.bytes));
  }
  // Untrained, every byte costs about log2(257) bits; end-of-text tokens stand for no text and count only in the loss.
  EXPECT_NEAR(results[0].bits_per_byte, 8.0, 0.3);
  EXPECT_NEAR(results[0].perplexity, std::exp(results[0].loss), 1e-9);
}

TEST(Trainer, tokens_that_stand_for_no_text_count_in_the_loss_but_not_in_bits_per_byte) {
  const auto backend = make_cpu_backend();
  const Recipe recipe = tiny_recipe();
  Trainer trainer = make_trainer(*backend, recipe);
  Batch batch = make_synthetic_batch(recipe);
  const auto end_of_text = static_cast<int32_t>(tiny_dataset().info().end_of_text_id);
  batch.targets[0] = batch.targets[5] = end_of_text;
  batch.targets[1] = -1;
  EvaluationSums sums;
  trainer.evaluate_batch(batch, sums);
  EXPECT_EQ(sums.tokens, 63);
  EXPECT_EQ(sums.bytes, 61);
  EXPECT_NEAR(sums.nats - sums.text_nats, 2 * std::log(257.0), 0.5);
}

TEST(Trainer, evaluation_does_not_change_training) {
  const auto backend = make_cpu_backend();
  Trainer quiet = make_trainer(*backend, tiny_recipe()), curious = make_trainer(*backend, tiny_recipe());
  for (int i = 0; i < 6; ++i) {
    quiet.step();
    curious.step();
    curious.evaluate();
  }
  EXPECT_EQ(all_weights(quiet), all_weights(curious));
}

TEST(Trainer, checkpointing_and_plain_attention_change_memory_only) {
  const auto backend = make_cpu_backend();
  Recipe recipe = tiny_recipe();
  recipe.model.layers = 3;
  Trainer reference = make_trainer(*backend, recipe);
  std::vector<Trainer> checkpointed;
  for (const int64_t blocks : {1, 2, 3, 100}) {
    recipe.compute.checkpointing = blocks;
    checkpointed.push_back(make_trainer(*backend, recipe));
  }
  recipe.compute.checkpointing = 0;
  recipe.compute.attention = AttentionKind::plain;
  Trainer plain = make_trainer(*backend, recipe);
  for (Trainer* trainer : {&reference, &plain}) trainer->step();
  const std::vector<float> gradients = all_gradients(reference);
  for (Trainer& trainer : checkpointed) {
    trainer.step();
    EXPECT_EQ(gradients, all_gradients(trainer)) << "groups of " << trainer.recipe().compute.checkpointing;
  }
  EXPECT_LT(distance(gradients, all_gradients(plain)), 1e-5 * norm(gradients));
}

TEST(Trainer, trains_every_family) {
  for (const DecoderFamily family :
       {DecoderFamily::llama, DecoderFamily::gpt2, DecoderFamily::mistral, DecoderFamily::qwen2, DecoderFamily::gptj}) {
    const auto backend = make_cpu_backend();
    Recipe recipe = tiny_recipe(30);
    recipe.model.family = family;
    if (family == DecoderFamily::gpt2 || family == DecoderFamily::gptj) recipe.model.kv_heads = recipe.model.heads;
    if (family == DecoderFamily::gptj) recipe.model.tied = false;
    Trainer trainer = make_trainer(*backend, recipe);
    const double first = trainer.step().loss;
    double last = first;
    while (trainer.state().step < 30) last = trainer.step().loss;
    EXPECT_LT(last, first - 1.0) << to_string(family);
  }
}

}  // namespace
}  // namespace owlet
