#include "train/training_session.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "backends/cpu/cpu_backend.hpp"
#include "base/atomic_file.hpp"
#include "base/error.hpp"
#include "base/json.hpp"
#include "formats/checkpoint_folder.hpp"
#include "formats/safetensors.hpp"
#include "tests/support/tiny_training.hpp"
#include "train/run_folder.hpp"

namespace owlet {
namespace {

namespace fs = std::filesystem;
using testing::make_tiny_dataset;
using testing::tiny_recipe;

/// A data folder, a backend and short ways to run sessions on them.
class Sessions : public ::testing::Test {
 protected:
  Sessions() { make_tiny_dataset(folder_.path()); }

  TrainingSession session(const std::string& run) {
    TrainingSession session;
    session.backend = backend_.get();
    session.run_folder = folder_ / run;
    session.data_folder = folder_ / "data";
    session.recipe = tiny_recipe();
    session.on_message = [this](const std::string& message) { messages_.push_back(message); };
    return session;
  }

  TrainingResult run(const std::string& name, const Recipe& recipe, int64_t stop_after = -1) {
    TrainingSession session = this->session(name);
    session.recipe = recipe;
    return run_training(stopping(session, stop_after));
  }

  TrainingResult resume(const std::string& name, int64_t stop_after = -1,
                        const std::vector<std::string>& overrides = {}) {
    TrainingSession session = this->session(name);
    session.data_folder.clear();
    session.overrides = overrides;
    return resume_training(stopping(session, stop_after));
  }

  /// Stops once `stop_after` steps were done in this session.
  TrainingSession stopping(TrainingSession session, int64_t stop_after) {
    auto done = std::make_shared<int64_t>(0);
    session.on_step = [done](const StepReport&) { *done += 1; };
    session.should_stop = [done, stop_after] { return *done == stop_after; };
    return session;
  }

  std::string file_of(const TrainingResult& result, const std::string& name) {
    return read_file(result.model_folder / name);
  }

  std::string error_of(const std::function<void()>& body) {
    try {
      body();
    } catch (const Error& error) {
      return std::string(error.what()) + " | " + error.hint();
    }
    return "no error";
  }

  bool has_message(std::string_view part) const {
    return std::ranges::any_of(messages_, [&](const auto& each) { return each.find(part) != std::string::npos; });
  }

  TemporaryFolder folder_;
  std::unique_ptr<Backend> backend_ = make_cpu_backend();
  std::vector<std::string> messages_;
};

TEST_F(Sessions, a_run_leaves_a_model_folder_with_metrics_and_result) {
  Recipe recipe = tiny_recipe(20);
  recipe.evaluation.every = 5;
  recipe.checkpoint.every = 8;
  recipe.log.every = 5;
  const TrainingResult result = run("run", recipe);
  EXPECT_EQ(result.steps, 20);
  EXPECT_FALSE(result.is_interrupted);
  EXPECT_LT(result.validation_loss, 4.5);
  EXPECT_GT(result.bits_per_byte, 1);
  EXPECT_GT(result.tokens_per_second, 0);
  EXPECT_EQ(result.peak_bytes, backend_->allocator().statistics().arena_bytes);
  for (const char* name : {"config.json", "generation_config.json", "model.safetensors", "tokenizer.json",
                           "tokenizer_config.json", "optimizer.safetensors", "trainer.json"}) {
    EXPECT_TRUE(fs::exists(result.model_folder / name)) << name;
  }
  EXPECT_EQ(marked_checkpoint(folder_ / "run/checkpoints", "latest"), 20);
  EXPECT_TRUE(marked_checkpoint(folder_ / "run/checkpoints", "best").has_value());

  std::ifstream metrics(folder_ / "run/metrics.jsonl");
  std::string line;
  std::vector<int64_t> steps, evaluations;
  while (std::getline(metrics, line)) {
    const Json json = parse_json(line, "metrics");
    (json.at("type") == "step" ? steps : evaluations).push_back(json.at("step"));
  }
  EXPECT_EQ(steps, (std::vector<int64_t>{5, 10, 15, 20}));
  EXPECT_EQ(evaluations, (std::vector<int64_t>{5, 8, 10, 15, 16, 20}));
}

TEST_F(Sessions, a_resumed_run_has_the_bits_of_an_uninterrupted_one) {
  struct Options {
    const char* name;
    DType precision, weights;
    OptimizerKind kind;
    bool in_backward;
  };
  for (const auto& [name, precision, weights, kind, in_backward] :
       {Options{"f32", DType::f32, DType::f32, OptimizerKind::adamw, false},
        Options{"bf16", DType::bf16, DType::f32, OptimizerKind::adamw, false},
        Options{"bf16 weights", DType::bf16, DType::bf16, OptimizerKind::adamw, false},
        Options{"8-bit moments", DType::bf16, DType::f32, OptimizerKind::adamw8bit, false},
        Options{"smallest", DType::bf16, DType::bf16, OptimizerKind::adamw8bit, true}}) {
    // The tiny corpus has about 300 rows: 4 rows and 5 micro-batches a step cross two epoch borders in 40 steps.
    Recipe recipe = tiny_recipe(40, precision);
    recipe.compute.weights = weights;
    recipe.optimizer.kind = kind;  // the embedding is large enough for 8-bit moments
    recipe.optimizer.in_backward = in_backward;
    recipe.optimizer.clip = in_backward ? 0 : 1;
    recipe.data.accumulation = in_backward ? 1 : 5;
    recipe.data.batch = in_backward ? 20 : 4;
    recipe.evaluation.every = 10;
    const TrainingResult whole = run(fmt::format("whole-{}", name), recipe);
    const std::string run_name = fmt::format("parts-{}", name);
    EXPECT_TRUE(run(run_name, recipe, 13).is_interrupted);
    EXPECT_TRUE(resume(run_name, 7).is_interrupted);
    const TrainingResult parts = resume(run_name);
    EXPECT_FALSE(parts.is_interrupted);
    EXPECT_EQ(parts.steps, whole.steps);
    EXPECT_EQ(parts.tokens, whole.tokens);
    EXPECT_EQ(parts.validation_loss, whole.validation_loss);
    EXPECT_EQ(file_of(whole, "model.safetensors"), file_of(parts, "model.safetensors")) << name;
    EXPECT_EQ(file_of(whole, "optimizer.safetensors"), file_of(parts, "optimizer.safetensors")) << name;
    const Json state = read_json(parts.model_folder / "trainer.json");
    EXPECT_GE(state.at("stream").at("epoch").get<int64_t>(), 1);
  }
}

TEST_F(Sessions, lines_after_the_checkpoint_are_cut_off_when_resuming) {
  Recipe recipe = tiny_recipe(12);
  recipe.checkpoint.every = 5;
  recipe.log.every = 1;
  run("run", recipe);
  fs::remove_all(folder_ / "run/checkpoints/step-12");
  const std::string before = read_file(folder_ / "run/metrics.jsonl");
  const TrainingResult result = resume("run");
  EXPECT_EQ(result.steps, 12);
  std::vector<int64_t> steps;
  std::ifstream metrics(folder_ / "run/metrics.jsonl");
  for (std::string line; std::getline(metrics, line);) {
    const Json json = parse_json(line, "metrics");
    if (json.at("type") == "step") steps.push_back(json.at("step"));
  }
  EXPECT_EQ(steps, (std::vector<int64_t>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}));
}

TEST_F(Sessions, a_broken_checkpoint_is_passed_over_with_a_message) {
  Recipe recipe = tiny_recipe(12);
  recipe.checkpoint.every = 5;
  const TrainingResult whole = run("run", recipe);
  const std::string weights = file_of(whole, "model.safetensors");
  std::string damaged = weights;
  damaged[damaged.size() / 2] = static_cast<char>(damaged[damaged.size() / 2] ^ 1);
  write_file_atomically(whole.model_folder / "model.safetensors", damaged);
  messages_.clear();
  const TrainingResult result = resume("run");
  EXPECT_TRUE(has_message("step-12")) << messages_.front();
  EXPECT_TRUE(has_message("after step 10 of 12"));
  EXPECT_EQ(file_of(result, "model.safetensors"), weights);
}

TEST_F(Sessions, a_run_without_a_checkpoint_starts_from_the_beginning) {
  const TrainingResult whole = run("whole", tiny_recipe(6));
  run("run", tiny_recipe(6), 3);
  fs::remove_all(folder_ / "run/checkpoints");
  const TrainingResult result = resume("run");
  EXPECT_EQ(file_of(result, "model.safetensors"), file_of(whole, "model.safetensors"));
}

TEST_F(Sessions, other_data_are_refused_naming_what_changed) {
  run("run", tiny_recipe(4), 2);
  make_tiny_dataset(folder_.path(), 41);
  const std::string error = error_of([&] { resume("run"); });
  EXPECT_NE(error.find("training tokens: "), std::string::npos) << error;
  EXPECT_NE(error.find(" -> "), std::string::npos) << error;
  EXPECT_EQ(error.find("vocabulary size"), std::string::npos) << error;
}

TEST_F(Sessions, a_longer_horizon_is_announced_and_another_model_refused) {
  run("run", tiny_recipe(4));
  const TrainingResult result = resume("run", -1, {"horizon.steps=6"});
  EXPECT_EQ(result.steps, 6);
  EXPECT_TRUE(has_message("horizon.steps: 4 -> 6"));
  EXPECT_EQ(load_recipe(folder_ / "run/recipe.toml").horizon.steps, 6);
  const std::string error = error_of([&] { resume("run", -1, {"model.layers=3"}); });
  EXPECT_NE(error.find("model.layers: 2 -> 3"), std::string::npos) << error;
  const std::string moments = error_of([&] { resume("run", -1, {"optimizer.kind=adamw8bit"}); });
  EXPECT_NE(moments.find("optimizer.kind: \"adamw\" -> \"adamw8bit\""), std::string::npos) << moments;
}

TEST_F(Sessions, resuming_a_complete_run_changes_nothing) {
  const TrainingResult whole = run("run", tiny_recipe(4));
  const TrainingResult again = resume("run");
  EXPECT_EQ(again.steps, 4);
  EXPECT_EQ(again.validation_loss, whole.validation_loss);
  EXPECT_EQ(list_checkpoints(folder_ / "run/checkpoints").size(), 1u);
}

TEST_F(Sessions, the_newest_and_the_best_checkpoints_are_kept) {
  Recipe recipe = tiny_recipe(30);
  recipe.checkpoint.every = 3;
  recipe.evaluation.every = 3;
  // After a good start the weights are driven away: the best checkpoint is an early one.
  recipe.optimizer.learning_rate = 0.5;
  recipe.schedule.warmup_steps = 30;
  const TrainingResult result = run("run", recipe);
  const auto best = marked_checkpoint(folder_ / "run/checkpoints", "best");
  ASSERT_TRUE(best.has_value());
  const std::vector<CheckpointEntry> kept = list_checkpoints(folder_ / "run/checkpoints");
  EXPECT_EQ(kept.size(), *best < 27 ? 3u : 2u);
  EXPECT_EQ(kept.front().step, std::min<int64_t>(*best, 27));
  EXPECT_LE(result.best_validation_loss, result.validation_loss);
}

TEST_F(Sessions, samples_are_written_by_the_caller_and_kept) {
  TrainingSession session = this->session("run");
  session.recipe.sample.every = 10;
  session.recipe.sample.prompts = {"Once"};
  session.write_sample = [](const SampleRequest& request) {
    return fmt::format(" [{} tokens at most]", request.max_tokens);
  };
  std::vector<int64_t> steps;
  session.on_sample = [&](const WrittenSample& sample) { steps.push_back(sample.step); };
  run_training(session);
  EXPECT_EQ(steps, (std::vector<int64_t>{10, 20}));
  EXPECT_NE(read_file(folder_ / "run/samples.md").find("> **Once** [100 tokens at most]"), std::string::npos);
}

TEST_F(Sessions, a_failed_start_leaves_no_run_behind) {
  TrainingSession session = this->session("run");
  session.recipe.model.context = 1 << 20;
  EXPECT_NE(error_of([&] { run_training(session); }).find("tokens"), std::string::npos);
  EXPECT_FALSE(fs::exists(folder_ / "run"));
}

}  // namespace
}  // namespace owlet
