#include "train/training_run.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.hpp"
#include "base/human.hpp"
#include "formats/checkpoint_folder.hpp"

namespace owlet {
namespace {

constexpr size_t kStepsForEstimate = 50;
constexpr double kNoValue = std::numeric_limits<double>::quiet_NaN();

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

TrainingRun::TrainingRun(const TrainingSession& session, RunFolder& folder, Trainer& trainer, const Dataset& dataset,
                         Tokenizer tokenizer)
    : session_(session), folder_(folder), trainer_(trainer), dataset_(dataset), tokenizer_(std::move(tokenizer)) {}

void TrainingRun::say(const std::string& message) {
  folder_.append_log(message);
  if (session_.on_message) session_.on_message(message);
}

void TrainingRun::continue_from(const CheckpointPlace& place) {
  load_checkpoint(place.path, trainer_, place.record);
  earlier_seconds_ = place.record.seconds;
  best_ = place.record.best;
  saved_step_ = place.record.state.step;
  // A run may die between writing a checkpoint and marking it.
  const bool is_best_there = best_ && std::filesystem::exists(checkpoint_path(folder_.checkpoints(), best_->step));
  if (is_best_there) mark_checkpoint(folder_.checkpoints(), "best", best_->step);
  prune_checkpoints(folder_.checkpoints(), static_cast<int>(trainer_.recipe().checkpoint.keep));
}

bool TrainingRun::is_due(int64_t every) const { return every > 0 && trainer_.state().step % every == 0; }

double TrainingRun::total_seconds() const { return earlier_seconds_ + seconds_since(start_); }

void TrainingRun::estimate_time_left(StepReport& report) {
  step_seconds_.push_back(report.seconds);
  if (step_seconds_.size() > kStepsForEstimate) step_seconds_.pop_front();
  double sum = 0;
  for (const double seconds : step_seconds_) sum += seconds;
  report.seconds_left = sum / static_cast<double>(step_seconds_.size()) *
                        static_cast<double>(std::max<int64_t>(0, report.total_steps - report.step));
}

void TrainingRun::log_step(const StepReport& report) {
  OrderedJson line{{"type", "step"},
                   {"step", report.step},
                   {"loss", report.loss},
                   {"mean_loss", last_mean_loss_},
                   {"learning_rate", report.learning_rate},
                   {"gradient_norm", report.gradient_norm},
                   {"tokens", report.tokens},
                   {"epoch", report.epoch},
                   {"tokens_per_second", static_cast<double>(interval_tokens_) / std::max(1e-9, interval_seconds_)},
                   {"data_wait_seconds", interval_wait_seconds_},
                   {"seconds", total_seconds()}};
  if (report.is_skipped) line["skipped"] = true;
  folder_.append_metrics(line);
}

void TrainingRun::after_step(StepReport& report) {
  estimate_time_left(report);
  training_seconds_ += report.seconds;
  data_wait_seconds_ += report.data_wait_seconds;
  trained_tokens_ += report.step_tokens;
  if (!report.is_skipped) {
    interval_loss_ += report.loss;
    interval_steps_ += 1;
  }
  interval_tokens_ += report.step_tokens;
  interval_seconds_ += report.seconds;
  interval_wait_seconds_ += report.data_wait_seconds;
  if (interval_steps_ > 0) last_mean_loss_ = interval_loss_ / static_cast<double>(interval_steps_);

  if (report.is_skipped) {
    say(fmt::format("step {} skipped: loss {} and gradient norm {} must be finite; weights and optimizer are untouched",
                    report.step, report.loss, report.gradient_norm));
  }
  if (is_due(trainer_.recipe().log.every) || report.step == report.total_steps || report.is_skipped) {
    log_step(report);
    interval_loss_ = interval_seconds_ = interval_wait_seconds_ = 0;
    interval_steps_ = interval_tokens_ = 0;
  }
  if (session_.on_step) session_.on_step(report);
  trainer_.check_skips();
}

void TrainingRun::evaluate(bool is_saved_next) {
  const EvaluationResult result = trainer_.evaluate();
  last_evaluation_ = result;
  // Only what is saved can be the best: the mark must have a checkpoint to point at.
  if (is_saved_next && std::isfinite(result.loss) && (!best_ || result.loss < best_->loss)) {
    best_ = BestEvaluation{result.step, result.loss};
  }
  folder_.append_metrics({{"type", "evaluation"},
                          {"step", result.step},
                          {"loss", result.loss},
                          {"perplexity", result.perplexity},
                          {"bits_per_byte", result.bits_per_byte},
                          {"tokens", result.tokens},
                          {"bytes", result.bytes},
                          {"evaluation_seconds", result.seconds},
                          {"seconds", total_seconds()}});
  if (session_.on_evaluation) session_.on_evaluation(result);
}

void TrainingRun::write_samples() {
  Context ctx(trainer_.backend());
  const SampleRecipe& recipe = trainer_.recipe().sample;
  for (const std::string& prompt : recipe.prompts) {
    const SampleRequest request{trainer_.model(), ctx, tokenizer_, prompt, recipe.max_tokens, trainer_.state().step};
    const WrittenSample sample{request.step, prompt, session_.write_sample(request)};
    folder_.append_sample(sample.step, prompt, sample.text);
    if (session_.on_sample) session_.on_sample(sample);
  }
}

void TrainingRun::save() {
  const int64_t step = trainer_.state().step;
  const TrainerRecord record{trainer_.state(), best_, total_seconds(), trainer_.recipe(), data_identity(dataset_)};
  save_checkpoint(folder_.checkpoints(), trainer_, record, tokenizer_);
  saved_step_ = step;
  if (best_ && best_->step == step) mark_checkpoint(folder_.checkpoints(), "best", step);
  prune_checkpoints(folder_.checkpoints(), static_cast<int>(trainer_.recipe().checkpoint.keep));
}

TrainingResult TrainingRun::run() {
  const Recipe& recipe = trainer_.recipe();
  const int64_t total = recipe.horizon.steps;
  bool is_interrupted = false;
  while (trainer_.state().step < total && !is_interrupted) {
    StepReport report = trainer_.step();
    after_step(report);
    const bool is_last = report.step == total;
    const bool is_checkpoint = is_last || is_due(recipe.checkpoint.every);
    const bool is_evaluation =
        is_last || is_due(recipe.evaluation.every) || (is_checkpoint && recipe.evaluation.every > 0);
    if (is_evaluation && trainer_.can_evaluate()) evaluate(is_checkpoint);
    const bool is_sample = is_due(recipe.sample.every) || (is_last && recipe.sample.every > 0);
    if (is_sample && session_.write_sample) write_samples();
    if (is_checkpoint) save();
    is_interrupted = !is_last && session_.should_stop && session_.should_stop();
  }
  if (!is_interrupted && !last_evaluation_ && trainer_.can_evaluate()) last_evaluation_ = trainer_.evaluate();
  if (saved_step_ != trainer_.state().step) save();
  return make_result(is_interrupted);
}

TrainingResult TrainingRun::make_result(bool is_interrupted) const {
  TrainingResult result;
  result.run_folder = folder_.path();
  result.model_folder = checkpoint_path(folder_.checkpoints(), trainer_.state().step);
  result.steps = trainer_.state().step;
  result.tokens = trainer_.state().tokens;
  result.train_loss = last_mean_loss_;
  result.validation_loss = last_evaluation_ ? last_evaluation_->loss : kNoValue;
  result.best_validation_loss = best_ ? best_->loss : kNoValue;
  result.bits_per_byte = last_evaluation_ && last_evaluation_->bytes > 0 ? last_evaluation_->bits_per_byte : kNoValue;
  result.tokens_per_second = static_cast<double>(trained_tokens_) / std::max(1e-9, training_seconds_);
  result.seconds = total_seconds();
  result.data_wait_seconds = data_wait_seconds_;
  result.skipped_steps = trainer_.state().skipped;
  result.peak_bytes = trainer_.backend().allocator().statistics().arena_bytes;
  result.is_interrupted = is_interrupted;
  return result;
}

}  // namespace owlet
