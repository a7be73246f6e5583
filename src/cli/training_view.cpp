#include "cli/training_view.hpp"

#include <cmath>

#include "base/human.hpp"
#include "cli/exit_codes.hpp"
#include "infer/text_generator.hpp"
#include "machine/process_memory.hpp"

namespace owlet {

std::string write_sample(LanguageModel& model, Context& ctx, const Tokenizer& tokenizer, const std::string& prompt,
                         int64_t max_tokens) {
  GenerationOptions options;
  options.max_tokens = max_tokens;
  options.sampler.temperature = 0.8;
  options.sampler.top_p = 0.95;
  TextGenerator generator(ctx, {model, tokenizer, tokenizer.begin_id(), tokenizer.end_ids()});
  return generator.generate(prompt, options).text;
}

void TrainingView::connect(TrainingSession& session) {
  const bool is_bf16 = session.recipe.compute.precision == DType::bf16;
  peak_gflops_ = is_bf16 && machine_.bf16_gflops > 0 ? machine_.bf16_gflops : machine_.f32_gflops;
  session.on_step = [this](const StepReport& report) { show_step(report); };
  session.on_evaluation = [this](const EvaluationResult& result) { show_evaluation(result); };
  session.on_message = [this](const std::string& text) { console_.message(text); };
  session.on_sample = [this](const WrittenSample& sample) {
    console_.message(
        fmt::format("step {} sample: {}{}", sample.step, console_.dim(sample.prompt), printable(sample.text)));
  };
  session.write_sample = [](const SampleRequest& request) {
    return write_sample(request.model, request.ctx, request.tokenizer, request.prompt, request.max_tokens);
  };
  session.should_stop = [this] { return stop_.is_requested(); };
}

void TrainingView::show_step(const StepReport& report) {
  losses_.push_back({static_cast<double>(report.step), report.loss});
  const double share = static_cast<double>(report.step) / static_cast<double>(std::max<int64_t>(report.total_steps, 1));
  std::string line = fmt::format("{} {}/{}  loss {:.3f}  lr {:.1e}  norm {:.2f}  {} tokens/s", progress_bar(share, 16),
                                 report.step, report.total_steps, report.loss, report.learning_rate,
                                 report.gradient_norm, format_count(report.tokens_per_second));
  if (peak_gflops_ > 0) line += fmt::format("  {:.0f} % of peak", 100 * report.flops_per_second / (peak_gflops_ * 1e9));
  if (report.seconds_left >= 0) line += fmt::format("  {} left", format_duration(report.seconds_left));
  console_.progress(line);
}

void TrainingView::show_evaluation(const EvaluationResult& result) {
  const bool is_best = best_loss_ < 0 || result.loss < best_loss_;
  if (is_best) best_loss_ = result.loss;
  console_.message(fmt::format("step {:>6}  validation loss {:.4f} nats/token  {:.4f} bits/byte{}", result.step,
                               result.loss, result.bits_per_byte, is_best ? "  best" : ""));
}

OrderedJson to_json(const TrainingResult& result) {
  const auto number = [](double value) { return std::isfinite(value) ? OrderedJson(value) : OrderedJson(nullptr); };
  return {{"run", result.run_folder.string()},
          {"model", result.model_folder.string()},
          {"steps", result.steps},
          {"tokens", result.tokens},
          {"train_loss", number(result.train_loss)},
          {"validation_loss", number(result.validation_loss)},
          {"best_validation_loss", number(result.best_validation_loss)},
          {"bits_per_byte", number(result.bits_per_byte)},
          {"tokens_per_second", number(result.tokens_per_second)},
          {"seconds", result.seconds},
          {"data_wait_seconds", result.data_wait_seconds},
          {"skipped_steps", result.skipped_steps},
          {"peak_bytes", result.peak_bytes},
          {"peak_resident_bytes", result.peak_resident_bytes},
          {"interrupted", result.is_interrupted}};
}

int TrainingView::finish(TrainingResult result, const std::filesystem::path& run_folder) {
  result.peak_resident_bytes = read_process_memory().peak_resident_bytes;
  result.run_folder = run_folder;
  const std::string run = run_folder.string();
  if (result.is_interrupted) {
    console_.result(
        fmt::format("Stopped after step {}; everything is saved. Continue with: owlet resume {}", result.steps, run));
  } else {
    console_.result(fmt::format("Trained {} steps, {} tokens in {} ({} tokens/s), peak memory {}", result.steps,
                                format_count(static_cast<double>(result.tokens)), format_duration(result.seconds),
                                format_count(result.tokens_per_second), format_bytes(result.peak_bytes)));
    std::string losses = fmt::format("train loss {:.4f}", result.train_loss);
    if (std::isfinite(result.validation_loss)) {
      losses += fmt::format(", validation loss {:.4f} nats/token = {:.4f} bits/byte", result.validation_loss,
                            result.bits_per_byte);
    }
    console_.result(losses);
    console_.result(fmt::format("Next: owlet generate {} \"Once upon a time\"", run));
  }
  console_.json_result(to_json(result));
  return result.is_interrupted ? kExitInterrupted : 0;
}

}  // namespace owlet
