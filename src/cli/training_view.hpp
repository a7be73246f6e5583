// How a training run looks to a person: the progress line, evaluations and samples as they come, the result at the end.
#pragma once

#include <string>
#include <vector>

#include "base/stop_signal.hpp"
#include "cli/console.hpp"
#include "cli/loss_curve.hpp"
#include "machine/machine_profile.hpp"
#include "text/tokenizer.hpp"
#include "train/training_session.hpp"

namespace owlet {

/// Connects a TrainingSession's callbacks to the console and to Ctrl-C. Lives as long as the session runs.
class TrainingView {
 public:
  TrainingView(Console& console, const MachineProfile& machine) : console_(console), machine_(machine) {}

  /// Sets the session's callbacks.
  void connect(TrainingSession& session);

  const std::vector<CurvePoint>& losses() const { return losses_; }
  /// Prints the result (text or JSON) with the run named as the person named it; returns the exit code: 0, or 130 when
  /// interrupted.
  int finish(TrainingResult result, const std::filesystem::path& run);

 private:
  void show_step(const StepReport& report);
  void show_evaluation(const EvaluationResult& result);

  Console& console_;
  MachineProfile machine_;
  StopSignal stop_;
  double peak_gflops_ = 0;
  double best_loss_ = -1;
  std::vector<CurvePoint> losses_;
};

/// The fields of a training result that scripts rely on; numbers that are not finite become null.
OrderedJson to_json(const TrainingResult& result);

/// Continues `prompt` with a model that is in memory.
std::string write_sample(LanguageModel& model, Context& ctx, const Tokenizer& tokenizer, const std::string& prompt,
                         int64_t max_tokens);

}  // namespace owlet
