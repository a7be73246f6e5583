#include "planner/training_plan.hpp"

#include <gtest/gtest.h>

#include "backends/cpu/cpu_backend.hpp"
#include "base/error.hpp"
#include "base/temporary_folder.hpp"
#include "tests/support/tiny_training.hpp"
#include "train/training_session.hpp"

namespace owlet {
namespace {

using testing::make_tiny_dataset;
using testing::tiny_recipe;

struct PlanCase {
  const char* name;
  void (*change)(Recipe&);
};

/// Switches that change what lies in memory.
const PlanCase kCases[] = {
    {"f32", [](Recipe& recipe) { recipe.compute.precision = DType::f32; }},
    {"bf16", [](Recipe&) {}},
    {"checkpointed", [](Recipe& recipe) { recipe.compute.checkpointing = 1; }},
    {"checkpointed in groups",
     [](Recipe& recipe) {
       recipe.model.layers = 5;
       recipe.compute.checkpointing = 2;
     }},
    {"accumulated", [](Recipe& recipe) { recipe.data.accumulation = 3; }},
    {"plain attention", [](Recipe& recipe) { recipe.compute.attention = AttentionKind::plain; }},
    {"plain, checkpointed, accumulated, f32",
     [](Recipe& recipe) {
       recipe.compute.attention = AttentionKind::plain;
       recipe.compute.checkpointing = 1;
       recipe.data.accumulation = 2;
       recipe.compute.precision = DType::f32;
     }},
    {"8-bit moments", [](Recipe& recipe) { recipe.optimizer.kind = OptimizerKind::adamw8bit; }},
    {"bf16 weights", [](Recipe& recipe) { recipe.compute.weights = DType::bf16; }},
    {"updated in backward",
     [](Recipe& recipe) {
       recipe.optimizer.in_backward = true;
       recipe.optimizer.clip = 0;
     }},
    {"8-bit moments, bf16 weights, updated in backward, checkpointed, head of its own",
     [](Recipe& recipe) {
       recipe.optimizer.kind = OptimizerKind::adamw8bit;
       recipe.compute.weights = DType::bf16;
       recipe.optimizer.in_backward = true;
       recipe.optimizer.clip = 0;
       recipe.compute.checkpointing = 1;
       recipe.model.tied = false;
     }},
    {"across documents, small chunks",
     [](Recipe& recipe) {
       recipe.data.cross_documents = true;
       recipe.compute.loss_chunk_rows = 32;
     }},
    {"gpt2",
     [](Recipe& recipe) {
       recipe.model.family = DecoderFamily::gpt2;
       recipe.model.kv_heads = recipe.model.heads;
     }},
};

TEST(TrainingPlan, predicts_the_peak_of_the_real_run_exactly) {
  TemporaryFolder folder;
  const Dataset dataset = make_tiny_dataset(folder.path());
  for (const PlanCase& each : kCases) {
    TrainingSession session;
    session.recipe = tiny_recipe(4, DType::bf16);
    session.recipe.model.width = 64;
    session.recipe.model.heads = 4;
    session.recipe.model.context = 32;
    session.recipe.evaluation.every = 2;
    session.recipe.checkpoint.every = 2;
    each.change(session.recipe);
    const auto backend = make_cpu_backend();
    session.backend = backend.get();
    session.data_folder = folder / "data";
    session.run_folder = folder / each.name;
    const TrainingResult result = run_training(session);
    const TrainingPlan plan = plan_training(session.recipe, dataset.info().vocab_size);
    EXPECT_EQ(plan.peak_bytes, result.peak_bytes) << each.name;
    uint64_t sum = 0;
    for (const PlanMemoryRow& row : plan.breakdown) sum += row.bytes;
    EXPECT_EQ(sum, plan.peak_bytes) << each.name;
    uint64_t on_disk = 0;
    for (const auto& file : std::filesystem::directory_iterator(result.model_folder)) on_disk += file.file_size();
    EXPECT_GE(plan.checkpoint_bytes, on_disk);
    EXPECT_LE(plan.checkpoint_bytes, on_disk + (300 << 10));
  }
}

/// The arena of one step of recipes/llama-1b.toml with these changes.
uint64_t llama_1b_bytes(const std::vector<std::string>& overrides) {
  const Recipe recipe = load_recipe(std::filesystem::path(OWLET_SOURCE_DIR) / "recipes/llama-1b.toml", overrides);
  return plan_training(recipe, recipe.model.vocab).peak_bytes;
}

TEST(TrainingPlan, a_billion_parameters_fit_where_they_are_promised_to) {
  // Beside the arena, a process has code, tables and batches.
  constexpr uint64_t kRestOfProcess = 120'000'000;
  const std::vector<std::string> small{"compute.weights=bf16", "optimizer.kind=adamw8bit",
                                       "compute.checkpointing=block"};
  const std::vector<std::string> exact{"compute.weights=f32", "optimizer.kind=adamw", "compute.checkpointing=block"};
  const auto in_backward = [](std::vector<std::string> overrides) {
    overrides.insert(overrides.end(), {"optimizer.in_backward=true", "optimizer.clip=0"});
    return overrides;
  };
  EXPECT_LE(llama_1b_bytes(small) + kRestOfProcess, 10'000'000'000u);
  EXPECT_LE(llama_1b_bytes(exact) + kRestOfProcess, 20'000'000'000u);
  EXPECT_LE(llama_1b_bytes(in_backward(small)) + kRestOfProcess, 5'500'000'000u);
  EXPECT_LE(llama_1b_bytes(in_backward(exact)) + kRestOfProcess, 16'200'000'000u);
}

TEST(TrainingPlan, counts_parameters_flops_and_time) {
  const Recipe recipe = tiny_recipe(10);
  MachineProfile machine;
  machine.measured_at = "2026-01-01T00:00:00Z";
  machine.f32_gflops = 100;
  machine.read_gb_per_second = 10;
  const TrainingPlan plan = plan_training(recipe, 257, {.machine = machine});
  // Embedding; per layer q, k, v, o with K = 1 of 16, three matrices of 32 x 48, two gains; last gain.
  EXPECT_EQ(plan.parameters, 257 * 32 + 2 * (32 * 32 + 2 * 16 * 32 + 32 * 32 + 3 * 32 * 48 + 2 * 32) + 32);
  EXPECT_EQ(plan.steps, 10);
  EXPECT_EQ(plan.tokens, 10 * 4 * 16);
  // Matrix products alone: 6 FLOPs per weight and token, forward and backward.
  const double products = 6.0 * (257 * 32 + 2 * (32 * 32 + 2 * 16 * 32 + 32 * 32 + 3 * 32 * 48)) * 64;
  EXPECT_GT(plan.flops_per_step, products);
  EXPECT_LT(plan.flops_per_step, 2.5 * products);
  EXPECT_TRUE(plan.has_time());
  EXPECT_GE(plan.seconds_per_step, plan.flops_per_step / 100e9);
  EXPECT_NEAR(plan.seconds, 10 * plan.seconds_per_step, 1e-9);
  EXPECT_FALSE(plan_training(recipe, 257).has_time());
}

TEST(TrainingPlan, accumulation_costs_time_and_at_most_the_gradients) {
  Recipe once = tiny_recipe(10), four_times = tiny_recipe(10);
  four_times.data.accumulation = 4;
  const TrainingPlan a = plan_training(once, 257), b = plan_training(four_times, 257);
  EXPECT_GT(b.flops_per_step, 3.5 * a.flops_per_step);
  EXPECT_LT(b.flops_per_step, 4.0 * a.flops_per_step);
  // The gradients of earlier micro-batches stand beside the activations of the next.
  EXPECT_GE(b.peak_bytes, a.peak_bytes);
  EXPECT_LE(b.peak_bytes, a.peak_bytes + sizeof(float) * static_cast<uint64_t>(a.parameters));
}

TEST(TrainingPlan, at_fixed_tokens_per_step_memory_does_not_grow_with_context) {
  Recipe recipe = tiny_recipe(10);
  const auto bytes = [&](int64_t context, int64_t batch) {
    recipe.model.context = context;
    recipe.data.batch = batch;
    double activations = 0;
    for (const PlanMemoryRow& row : plan_training(recipe, 257).breakdown) {
      if (row.kind == "activations" || row.kind == "workspace") activations += static_cast<double>(row.bytes);
    }
    return activations;
  };
  const double at_256 = bytes(256, 32);
  EXPECT_NEAR(bytes(2048, 4), at_256, 0.1 * at_256);
  EXPECT_NEAR(bytes(8192, 1), at_256, 0.1 * at_256);
  recipe.compute.attention = AttentionKind::plain;
  EXPECT_GT(bytes(8192, 1), 4 * at_256);
}

TEST(TrainingPlan, a_horizon_in_epochs_needs_the_number_of_tokens) {
  Recipe recipe = tiny_recipe(10);
  recipe.horizon = {.epochs = 2};
  EXPECT_THROW(plan_training(recipe, 257), Error);
  EXPECT_EQ(plan_training(recipe, 257, {.train_tokens = 6400}).steps, 200);
}

}  // namespace
}  // namespace owlet
