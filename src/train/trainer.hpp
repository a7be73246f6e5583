// Trainer: model, gradients, optimizer and data of one run, step by step. Knows no files: see train/checkpoint.hpp for
// saving and train/training_session.hpp for whole runs.
//
//   Trainer trainer(*backend, recipe, make_training_data(dataset, recipe));
//   while (trainer.state().step < recipe.horizon.steps) report = trainer.step();
//
// The same code runs on the plan backend with make_synthetic_training_data.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "data/batch_stream.hpp"
#include "data/dataset.hpp"
#include "models/language_model.hpp"
#include "ops/backend.hpp"
#include "train/optimizer.hpp"
#include "train/recipe.hpp"

namespace owlet {

/// Where a trainer's batches come from.
struct TrainingData {
  std::unique_ptr<BatchStream> training;
  /// Null: nothing to evaluate on.
  std::unique_ptr<EvaluationStream> validation;
  int64_t vocab_size = 0;
  /// Text bytes of each token id (0: stands for no text), for bits per byte; may be empty.
  std::vector<int32_t> token_byte_lengths;
};

/// Streams over a data folder as the recipe wants them, the training one with a prefetch thread.
/// Throws Error invalid_argument if the training tokens do not fill one row; a data folder whose validation split is
/// empty has no validation stream.
TrainingData make_training_data(const Dataset& dataset, const Recipe& recipe);
/// Batches of the same shapes with nothing in them, for planning.
TrainingData make_synthetic_training_data(const Recipe& recipe, int64_t vocab_size);
/// One of those batches.
Batch make_synthetic_batch(const Recipe& recipe);

/// What a step did.
struct StepReport {
  int64_t step = 0;  ///< steps done, this one included
  int64_t total_steps = 0;
  double loss = 0;  ///< nats per token, mean over the step's valid tokens, before the update
  double learning_rate = 0;
  double gradient_norm = 0;  ///< before clipping
  /// Loss or gradient was not finite: weights and optimizer are as before.
  bool is_skipped = false;
  int64_t step_tokens = 0;        ///< valid tokens of this step
  int64_t tokens = 0;             ///< valid tokens since the run began
  uint64_t epoch = 0;             ///< passes over the data completed
  double seconds = 0;             ///< of this step
  double data_wait_seconds = 0;   ///< of this step, spent waiting for batches
  double tokens_per_second = 0;   ///< of this step
  double flops_per_second = 0;    ///< by LanguageModel::training_flops_per_token
  double seconds_left = -1;       ///< of the run, by its latest steps; negative: unknown
  int64_t consecutive_skips = 0;  ///< this one included
};

/// What an evaluation found.
struct EvaluationResult {
  int64_t step = 0;          ///< steps done before it
  double loss = 0;           ///< nats per token, mean over all scored tokens
  double perplexity = 0;     ///< exp(loss)
  double bits_per_byte = 0;  ///< nats of tokens that stand for text / ln 2 / bytes of that text
  int64_t tokens = 0;        ///< scored
  int64_t bytes = 0;         ///< text they stand for
  double seconds = 0;
};

/// Sums of an evaluation so far.
struct EvaluationSums {
  double nats = 0, text_nats = 0;  ///< of all scored tokens; of those that stand for text
  int64_t tokens = 0, bytes = 0;
};

/// What a run is besides weights and moments: with them it determines all later steps.
struct TrainerState {
  int64_t step = 0;     ///< steps done
  int64_t updates = 0;  ///< steps that were not skipped: AdamW's step count
  int64_t tokens = 0;   ///< valid tokens seen
  int64_t skipped = 0;  ///< steps skipped, ever
  int64_t consecutive_skips = 0;
  BatchStreamState stream;
};

/// Used by one thread. The backend must outlive it. `recipe` must be resolved.
class Trainer {
 public:
  /// Allocates model, gradients and moments and initialises the weights from recipe.seed.
  /// Throws Error invalid_argument (recipe), out_of_memory.
  Trainer(Backend& backend, const Recipe& recipe, TrainingData data);

  /// One optimizer update over `accumulation` micro-batches. The gradient is the mean over all valid tokens of the
  /// step, clipped once. A loss or gradient norm that is not finite skips the update before any weight is touched;
  /// the step counts and its batches are consumed. With optimizer.in_backward there is no clipping, and the rule holds
  /// for the loss only: a gradient that is not finite leaves its own parameter as it is, while others are updated.
  StepReport step();
  /// Throws Error invalid_argument when the last skip_limit steps were all skipped.
  void check_skips() const;

  /// Mean loss over the validation stream, with sums kept and logits never. Draws no random numbers and touches
  /// neither gradients nor the training stream. Throws Error invalid_argument without validation data.
  EvaluationResult evaluate();
  /// One batch of it.
  void evaluate_batch(const Batch& batch, EvaluationSums& sums);
  bool can_evaluate() const { return data_.validation != nullptr; }

  const TrainerState& state() const { return state_; }
  /// Continues from here; weights and moments are set through model() and optimizer().
  void set_state(const TrainerState& state);

  const Recipe& recipe() const { return recipe_; }
  const DecoderConfig& config() const { return config_; }
  LanguageModel& model() { return *model_; }
  AdamWOptimizer& optimizer() { return optimizer_; }
  Backend& backend() { return backend_; }
  /// Seconds since construction that steps spent waiting for data.
  double data_wait_seconds() const { return data_.training->data_wait_seconds(); }

 private:
  struct MicroBatchResult {
    double loss_sum = 0;
    bool is_finite = true;
  };
  /// `report` holds the step's learning rate and number of valid tokens.
  MicroBatchResult run_micro_batch(const Batch& batch, const StepReport& report);
  MicroBatchResult run_micro_batches(const std::vector<Batch>& batches, const StepReport& report);
  /// optimizer.in_backward: updates one parameter and gives its gradient's memory back.
  void update_now(Parameter& parameter, double learning_rate);
  void update_weights(StepReport& report);
  ModelInput upload(Context& ctx, const Batch& batch) const;
  /// The first elements of `losses` in host memory, until the next call.
  std::span<const float> read_losses(const Tensor& losses);

  Backend& backend_;
  Recipe recipe_;
  DecoderConfig config_;
  TrainingData data_;
  std::unique_ptr<LanguageModel> model_;
  AdamWOptimizer optimizer_;
  TrainerState state_;
  std::vector<float> host_losses_;
};

}  // namespace owlet
