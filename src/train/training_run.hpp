// One session of a run at work: the loop behind run_training and resume_training.
#pragma once

#include <chrono>
#include <deque>
#include <optional>

#include "data/dataset.hpp"
#include "text/tokenizer.hpp"
#include "train/checkpoint.hpp"
#include "train/run_folder.hpp"
#include "train/training_session.hpp"

namespace owlet {

/// A checkpoint to continue from.
struct CheckpointPlace {
  std::filesystem::path path;
  TrainerRecord record;
};

/// Everything of a session that outlives single steps. Used once, by one thread.
class TrainingRun {
 public:
  TrainingRun(const TrainingSession& session, RunFolder& folder, Trainer& trainer, const Dataset& dataset,
              Tokenizer tokenizer);
  /// Continues from a checkpoint instead of from the beginning.
  void continue_from(const CheckpointPlace& place);
  TrainingResult run();
  /// Tells the person and log.txt.
  void say(const std::string& message);

 private:
  using Clock = std::chrono::steady_clock;

  void after_step(StepReport& report);
  void log_step(const StepReport& report);
  void estimate_time_left(StepReport& report);
  bool is_due(int64_t every) const;
  void evaluate(bool is_saved_next);
  void write_samples();
  void save();
  double total_seconds() const;
  TrainingResult make_result(bool is_interrupted) const;

  const TrainingSession& session_;
  RunFolder& folder_;
  Trainer& trainer_;
  const Dataset& dataset_;
  Tokenizer tokenizer_;

  Clock::time_point start_ = Clock::now();
  double earlier_seconds_ = 0;
  std::optional<BestEvaluation> best_;
  std::optional<EvaluationResult> last_evaluation_;
  std::optional<int64_t> saved_step_;
  std::deque<double> step_seconds_;  // of the latest steps
  double training_seconds_ = 0, data_wait_seconds_ = 0;
  int64_t trained_tokens_ = 0;
  // Of the log interval at work and of the one before.
  double interval_loss_ = 0, interval_seconds_ = 0, interval_wait_seconds_ = 0, last_mean_loss_ = 0;
  int64_t interval_steps_ = 0, interval_tokens_ = 0;
};

}  // namespace owlet
