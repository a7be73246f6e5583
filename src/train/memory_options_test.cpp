// Options that save memory: 8-bit moments, weights in bf16 alone, updates in the backward pass.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "backends/cpu/cpu_backend.hpp"
#include "base/json.hpp"
#include "formats/safetensors.hpp"
#include "ops/any_op.hpp"
#include "tests/support/tiny_training.hpp"
#include "text/tokenizer.hpp"
#include "train/checkpoint.hpp"
#include "train/random_data.hpp"
#include "train/trainer.hpp"

namespace owlet {
namespace {

using testing::tiny_recipe;

constexpr int64_t kVocab = 300;

/// Large enough that embedding and matrices get 8-bit moments.
Recipe small_recipe(int64_t steps = 20) {
  Recipe recipe = tiny_recipe(steps, DType::bf16);
  recipe.model.width = 64;
  recipe.model.kv_heads = 2;
  recipe.model.feed_forward = 160;
  recipe.optimizer.clip = 0;
  return recipe;
}

/// On tokens that follow a rule half of the time, without end: nothing to learn by heart.
Trainer make_trainer(Backend& backend, const Recipe& recipe) {
  return {backend, recipe, make_random_training_data(recipe, kVocab, 5)};
}

std::vector<std::byte> bytes_of(Backend& backend, const Tensor& tensor) {
  std::vector<std::byte> bytes(tensor.size_bytes());
  backend.read(tensor, bytes.data());
  return bytes;
}

/// Weights and moments, one after the other.
std::vector<std::byte> all_state(Trainer& trainer) {
  std::vector<std::byte> all;
  const auto append = [&](const Tensor& tensor) {
    const std::vector<std::byte> bytes = bytes_of(trainer.backend(), tensor);
    all.insert(all.end(), bytes.begin(), bytes.end());
  };
  for (const Parameter& parameter : trainer.model().parameters().all()) {
    append(parameter.value);
    if (parameter.lower_bits.defined()) append(parameter.lower_bits);
  }
  for (const Moments& moments : trainer.optimizer().moments()) {
    for (const auto& [prefix, tensor] : moments.tensors()) append(tensor);
  }
  return all;
}

/// The CPU backend with one gradient spoilt on its way to the optimizer.
class SpoilingBackend final : public Backend {
 public:
  std::string_view name() const override { return "spoiling"; }
  void run(const AnyOp& op) override {
    if (const auto* norm = std::get_if<op::SquaredNorm>(&op.variant); norm != nullptr && num_norms++ == spoilt_norm) {
      norm->x.data<float>()[3] = std::numeric_limits<float>::quiet_NaN();
    }
    if (const auto* head = std::get_if<op::LinearCrossEntropy>(&op.variant); head != nullptr) {
      inner_->run(op);
      if (spoils_loss) head->losses.data<float>()[0] = std::numeric_limits<float>::infinity();
      return;
    }
    inner_->run(op);
  }
  bool supports(const AnyOp& op) const override { return inner_->supports(op); }
  CachingAllocator& allocator() override { return inner_->allocator(); }
  void write(const Tensor& tensor, const void* source) override { inner_->write(tensor, source); }
  void read(const Tensor& tensor, void* target) override { inner_->read(tensor, target); }

  int num_norms = 0, spoilt_norm = -1;
  bool spoils_loss = false;

 private:
  std::unique_ptr<Backend> inner_ = make_cpu_backend();
};

TEST(MemoryOptions, UpdatesInTheBackwardPassGiveTheSameBits) {
  for (const bool is_tied : {true, false}) {
    for (const OptimizerKind kind : {OptimizerKind::adamw, OptimizerKind::adamw8bit}) {
      for (const int64_t checkpointing : {0, 2}) {
        const auto backend = make_cpu_backend();
        Recipe recipe = small_recipe();
        recipe.model.tied = is_tied;
        recipe.model.layers = 3;
        recipe.optimizer.kind = kind;
        recipe.compute.checkpointing = checkpointing;
        recipe.compute.weights = kind == OptimizerKind::adamw ? DType::f32 : DType::bf16;
        Trainer after = make_trainer(*backend, recipe);
        recipe.optimizer.in_backward = true;
        Trainer inside = make_trainer(*backend, recipe);
        for (int step = 0; step < 4; ++step) {
          const StepReport a = after.step(), b = inside.step();
          EXPECT_EQ(a.loss, b.loss);
          EXPECT_EQ(a.gradient_norm, b.gradient_norm);
        }
        EXPECT_EQ(all_state(after), all_state(inside)) << to_string(kind) << ", tied " << is_tied;
        for (const Parameter& parameter : inside.model().parameters().all()) {
          EXPECT_FALSE(parameter.gradient.defined()) << parameter.name;
        }
      }
    }
  }
}

TEST(MemoryOptions, GradientsNeverAllExist) {
  const auto peak_gradients = [](bool in_backward) {
    const auto backend = make_cpu_backend();
    Recipe recipe = small_recipe();
    recipe.model.layers = 8;
    recipe.optimizer.in_backward = in_backward;
    Trainer trainer = make_trainer(*backend, recipe);
    trainer.step();
    backend->allocator().reset_peak();
    trainer.step();
    return backend->allocator().statistics().peak_by_kind[static_cast<size_t>(MemoryKind::gradients)];
  };
  EXPECT_LT(peak_gradients(true), peak_gradients(false) / 3);
}

TEST(MemoryOptions, InBackwardALossThatIsNotFiniteSkipsTheStep) {
  SpoilingBackend backend;
  Recipe recipe = small_recipe();
  recipe.optimizer.in_backward = true;
  Trainer trainer = make_trainer(backend, recipe);
  trainer.step();
  const std::vector<std::byte> before = all_state(trainer);
  backend.spoils_loss = true;
  EXPECT_TRUE(trainer.step().is_skipped);
  EXPECT_EQ(all_state(trainer), before);
  EXPECT_EQ(trainer.state().updates, 1);
}

TEST(MemoryOptions, InBackwardAGradientThatIsNotFiniteSparesItsOwnParameterOnly) {
  SpoilingBackend backend;
  Recipe recipe = small_recipe();
  recipe.optimizer.in_backward = true;
  Trainer trainer = make_trainer(backend, recipe);
  trainer.step();
  std::map<std::string, std::vector<std::byte>> before;
  for (const Parameter& each : trainer.model().parameters().all()) before[each.name] = bytes_of(backend, each.value);
  backend.num_norms = 0;
  backend.spoilt_norm = 2;
  const StepReport report = trainer.step();
  EXPECT_FALSE(report.is_skipped);
  EXPECT_TRUE(std::isnan(report.gradient_norm));
  int num_same = 0;
  for (const Parameter& each : trainer.model().parameters().all()) {
    num_same += before[each.name] == bytes_of(backend, each.value) ? 1 : 0;
  }
  EXPECT_EQ(num_same, 1);
  EXPECT_TRUE(std::isfinite(trainer.step().loss));
}

TEST(MemoryOptions, StorageIsAsAsked) {
  const auto backend = make_cpu_backend();
  Recipe recipe = small_recipe();
  recipe.compute.weights = DType::bf16;
  recipe.optimizer.kind = OptimizerKind::adamw8bit;
  Trainer trainer = make_trainer(*backend, recipe);
  int num_8bit = 0;
  for (const Moments& moments : trainer.optimizer().moments()) {
    const Parameter& parameter = *moments.parameter;
    const bool is_matrix = parameter.shape.rank() >= 2;
    EXPECT_EQ(parameter.value.dtype(), is_matrix ? DType::bf16 : DType::f32) << parameter.name;
    EXPECT_EQ(moments.is_8bit(), parameter.shape.num_elements() >= 4096) << parameter.name;
    EXPECT_EQ(moments.m.dtype(), moments.is_8bit() ? DType::i8 : DType::f32);
    num_8bit += moments.is_8bit() ? 1 : 0;
  }
  EXPECT_GT(num_8bit, 8);
}

TEST(MemoryOptions, CheckpointsHoldWhatExistsAndNothingMore) {
  const auto backend = make_cpu_backend();
  Recipe recipe = small_recipe();
  recipe.compute.weights = DType::bf16;
  recipe.optimizer.kind = OptimizerKind::adamw8bit;
  const Tokenizer tokenizer = byte_tokenizer();
  Trainer trainer(*backend, recipe, make_random_training_data(recipe, tokenizer.vocab_size(), 5));
  for (int i = 0; i < 3; ++i) trainer.step();
  const TemporaryFolder folder;
  TrainerRecord record;
  record.recipe = recipe;
  record.state = trainer.state();
  const auto checkpoint = save_checkpoint(folder / "checkpoints", trainer, record, tokenizer);
  const SafetensorsFile weights(checkpoint / "model.safetensors"), moments(checkpoint / "optimizer.safetensors");
  EXPECT_EQ(weights.get("model.embed_tokens.weight").dtype, "BF16");
  EXPECT_EQ(weights.get("model.norm.weight").dtype, "F32");
  EXPECT_EQ(moments.get("m.model.embed_tokens.weight").dtype, "I8");
  EXPECT_EQ(moments.get("v.model.embed_tokens.weight").dtype, "U8");
  EXPECT_EQ(moments.get("m_scale.model.embed_tokens.weight").dtype, "F32");
  EXPECT_EQ(moments.find("m_scale.model.norm.weight"), nullptr);
  EXPECT_EQ(read_json(checkpoint / "config.json").at("torch_dtype"), "bfloat16");

  Trainer again(*backend, recipe, make_random_training_data(recipe, tokenizer.vocab_size(), 5));
  load_checkpoint(checkpoint, again, record);
  EXPECT_EQ(all_state(again), all_state(trainer));
  EXPECT_EQ(again.step().loss, trainer.step().loss);
  EXPECT_EQ(all_state(again), all_state(trainer));
}

/// Mean loss of the last 100 of 500 steps.
double late_loss(OptimizerKind kind, DType weights) {
  const auto backend = make_cpu_backend();
  Recipe recipe = small_recipe(500);
  recipe.optimizer.clip = 1;
  recipe.optimizer.kind = kind;
  recipe.optimizer.learning_rate = 3e-3;
  recipe.compute.weights = weights;
  Trainer trainer = make_trainer(*backend, recipe);
  double sum = 0;
  while (trainer.state().step < 500) {
    const double loss = trainer.step().loss;
    if (trainer.state().step > 400) sum += loss;
  }
  return sum / 100;
}

TEST(MemoryOptions, TrainAsWellAsF32) {
  const double exact = late_loss(OptimizerKind::adamw, DType::f32);
  const double moments = late_loss(OptimizerKind::adamw8bit, DType::f32);
  const double weights = late_loss(OptimizerKind::adamw, DType::bf16);
  const double both = late_loss(OptimizerKind::adamw8bit, DType::bf16);
  RecordProperty("f32", std::to_string(exact));
  RecordProperty("adamw8bit", std::to_string(moments));
  RecordProperty("bf16_weights", std::to_string(weights));
  RecordProperty("both", std::to_string(both));
  EXPECT_LT(exact, 5.0);  // log(300) is 5.7: something was learnt
  EXPECT_NEAR(moments, exact, 0.01 * exact);
  EXPECT_NEAR(weights, exact, 0.01 * exact);
  EXPECT_NEAR(both, exact, 0.01 * exact);
}

}  // namespace
}  // namespace owlet
