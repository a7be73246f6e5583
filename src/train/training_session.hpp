// Whole training runs: a recipe and data in, a run folder with a trained model out.
//
//   auto backend = make_cpu_backend();
//   TrainingSession session{.backend = backend.get(), .run_folder = "runs/owl", .data_folder = "data/stories"};
//   session.recipe = load_recipe("recipes/stories-3m.toml");
//   session.on_step = [](const StepReport& report) { … };
//   TrainingResult result = run_training(session);       // or resume_training(session)
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "text/tokenizer.hpp"
#include "train/recipe.hpp"
#include "train/trainer.hpp"

namespace owlet {

/// A text to be written with the model as it is now.
struct SampleRequest {
  LanguageModel& model;
  Context& ctx;
  const Tokenizer& tokenizer;
  std::string prompt;
  int64_t max_tokens = 0;
  int64_t step = 0;
};

/// A text written on the way.
struct WrittenSample {
  int64_t step = 0;
  std::string prompt, text;
};

/// What to run and whom to tell. Callbacks come on the calling thread, between steps; empty ones are not called.
struct TrainingSession {
  Backend* backend = nullptr;
  std::filesystem::path run_folder;
  /// Of a new run; ignored when resuming. Need not be resolved.
  Recipe recipe;
  /// When resuming: changes to the run's recipe ("horizon.steps=4000"). Sections that shape the weights are refused.
  std::vector<std::string> overrides;
  /// When resuming: empty: where the run was started with.
  std::filesystem::path data_folder;
  /// Replace an existing run.
  bool force = false;

  /// After every step.
  std::function<void(const StepReport&)> on_step;
  std::function<void(const EvaluationResult&)> on_evaluation;
  std::function<void(const WrittenSample&)> on_sample;
  /// Things a person should know: where a run continues, a skipped step, a broken checkpoint. Also in log.txt.
  std::function<void(const std::string&)> on_message;
  /// Continues a prompt; supplied by whoever can generate. Empty: no samples.
  std::function<std::string(const SampleRequest&)> write_sample;
  /// Asked between steps; true: write a checkpoint and return with is_interrupted set.
  std::function<bool()> should_stop;
};

/// What a run came to.
struct TrainingResult {
  std::filesystem::path run_folder;
  std::filesystem::path model_folder;  ///< the checkpoint of the last step
  int64_t steps = 0;                   ///< done, earlier sessions included
  int64_t tokens = 0;                  ///< valid tokens seen, earlier sessions included
  double train_loss = 0;               ///< mean over the steps of the last log interval
  double validation_loss = 0;          ///< after the last step; NaN: no validation data or interrupted before any
  double best_validation_loss = 0;     ///< NaN likewise
  double bits_per_byte = 0;            ///< NaN likewise
  double tokens_per_second = 0;        ///< of this session's training steps, without evaluation and checkpoints
  double seconds = 0;                  ///< of all sessions
  double data_wait_seconds = 0;        ///< of this session
  int64_t skipped_steps = 0;
  uint64_t peak_bytes = 0;  ///< the allocator's arena
  /// Left 0; programs fill it from machine/process_memory.hpp.
  uint64_t peak_resident_bytes = 0;
  bool is_interrupted = false;
};

/// Starts a run. Throws what RunFolder::create, load_dataset, Trainer and the writers throw; checks before the first
/// step that a checkpoint fits on the disk.
TrainingResult run_training(const TrainingSession& session);

/// Continues a run from its newest valid checkpoint (from the beginning where it has none) as if it had never stopped:
/// the same bits on the same backend with the same number of threads. Throws Error invalid_argument if data or
/// tokenizer are not those of the run, naming what changed.
TrainingResult resume_training(const TrainingSession& session);

}  // namespace owlet
