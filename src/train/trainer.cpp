#include "train/trainer.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <numbers>
#include <numeric>

#include "base/error.hpp"
#include "data/token_sequence.hpp"
#include "models/decoder/decoder.hpp"
#include "ops/any_op.hpp"
#include "ops/tape.hpp"
#include "train/schedule.hpp"

namespace owlet {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

/// The same batch for ever.
class RepeatingStream final : public BatchStream {
 public:
  explicit RepeatingStream(Batch batch) : batch_(std::move(batch)) {}
  Batch next() override {
    state_.position += static_cast<uint64_t>(batch_.batch_size);
    return batch_;
  }
  BatchStreamState state() const override { return state_; }
  void seek(BatchStreamState state) override { state_ = state; }
  double data_wait_seconds() const override { return 0; }

 private:
  Batch batch_;
  BatchStreamState state_;
};

std::unique_ptr<LanguageModel> make_model(Backend& backend, const Recipe& recipe, const DecoderConfig& config) {
  Context ctx(backend);
  auto model = make_decoder(
      ctx, config, {.compute_type = recipe.compute.precision, .keeps_master = recipe.compute.weights == DType::f32});
  model->set_run_options({.attention = recipe.compute.attention,
                          .blocks_per_checkpoint = recipe.compute.checkpointing,
                          .loss_chunk_rows = recipe.compute.loss_chunk_rows});
  model->parameters().initialize(ctx, recipe.seed);
  return model;
}

AdamWOptimizer make_optimizer(Backend& backend, ParameterSet& parameters, const Recipe& recipe) {
  Context ctx(backend);
  return {ctx, parameters, recipe.optimizer, recipe.seed};
}

}  // namespace

TrainingData make_training_data(const Dataset& dataset, const Recipe& recipe) {
  TrainingData data;
  data.vocab_size = dataset.info().vocab_size;
  data.token_byte_lengths = dataset.token_byte_lengths();
  data.training = prefetched(make_training_stream(dataset, {.batch_size = recipe.data.batch,
                                                            .context = recipe.model.context,
                                                            .seed = recipe.data.seed,
                                                            .cross_documents = recipe.data.cross_documents}));
  if (dataset.validation()->num_tokens() >= 2) {
    data.validation =
        std::make_unique<EvaluationStream>(dataset.validation(), data.token_byte_lengths,
                                           EvaluationStreamOptions{.batch_size = recipe.data.batch,
                                                                   .context = recipe.model.context,
                                                                   .cross_documents = recipe.data.cross_documents,
                                                                   .max_batches = recipe.evaluation.batches});
  }
  return data;
}

TrainingData make_synthetic_training_data(const Recipe& recipe, int64_t vocab_size) {
  TrainingData data;
  data.vocab_size = vocab_size;
  data.training = std::make_unique<RepeatingStream>(make_synthetic_batch(recipe));
  return data;
}

Batch make_synthetic_batch(const Recipe& recipe) {
  const int64_t context = recipe.model.context;
  const auto size = static_cast<size_t>(recipe.data.batch * context);
  Batch batch;
  batch.batch_size = recipe.data.batch;
  batch.context = context;
  batch.inputs.assign(size, 0);
  batch.targets.assign(size, 0);
  batch.document_starts.assign(size, 0);
  batch.positions.resize(size);
  for (size_t i = 0; i < size; ++i) batch.positions[i] = static_cast<int32_t>(i % static_cast<size_t>(context));
  batch.num_valid = batch.batch_size * context;
  return batch;
}

Trainer::Trainer(Backend& backend, const Recipe& recipe, TrainingData data)
    : backend_(backend),
      recipe_(recipe),
      config_(decoder_config(recipe, data.vocab_size)),
      data_(std::move(data)),
      model_(make_model(backend, recipe, config_)),
      optimizer_(make_optimizer(backend, model_->parameters(), recipe)) {
  check(recipe_.horizon.steps > 0, ErrorKind::internal, "a trainer needs a resolved recipe");
  state_.stream = data_.training->state();
}

void Trainer::set_state(const TrainerState& state) {
  data_.training->seek(state.stream);
  state_ = state;
}

ModelInput Trainer::upload(Context& ctx, const Batch& batch) const {
  const Shape shape{batch.batch_size, batch.context};
  const auto copy = [&](const std::vector<int32_t>& values) {
    return ctx.from_values<int32_t>(shape, values, MemoryKind::batch);
  };
  ModelInput input;
  input.tokens = copy(batch.inputs);
  input.positions = copy(batch.positions);
  if (!recipe_.data.cross_documents) input.document_starts = copy(batch.document_starts);
  return input;
}

std::span<const float> Trainer::read_losses(const Tensor& losses) {
  host_losses_.resize(std::max(host_losses_.size(), static_cast<size_t>(losses.num_elements())));
  backend_.read(losses, host_losses_.data());
  return {host_losses_.data(), static_cast<size_t>(losses.num_elements())};
}

void Trainer::update_now(Parameter& parameter, double learning_rate) {
  Context ctx(backend_);
  optimizer_.update_alone(ctx, parameter, learning_rate, state_.updates + 1);
  parameter.gradient = Tensor();
}

Trainer::MicroBatchResult Trainer::run_micro_batch(const Batch& batch, const StepReport& report) {
  Tape tape;
  Context ctx(backend_, &tape);
  std::function<void(Parameter&)> on_gradient;
  if (recipe_.optimizer.in_backward) {
    on_gradient = [this, rate = report.learning_rate](Parameter& parameter) { update_now(parameter, rate); };
  }
  model_->parameters().watch_on(tape, on_gradient);
  const ModelInput input = upload(ctx, batch);
  const Tensor targets = ctx.from_values<int32_t>({batch.batch_size, batch.context}, batch.targets, MemoryKind::batch);
  const Tensor losses = model_->losses(ctx, input, targets, 1.0f / static_cast<float>(report.step_tokens));
  MicroBatchResult result;
  for (const float loss : read_losses(losses)) result.loss_sum += static_cast<double>(loss);
  result.is_finite = std::isfinite(result.loss_sum);
  if (result.is_finite) tape.backward(ctx, losses);
  return result;
}

Trainer::MicroBatchResult Trainer::run_micro_batches(const std::vector<Batch>& batches, const StepReport& report) {
  model_->parameters().release_gradients();
  MicroBatchResult sum;
  for (const Batch& batch : batches) {
    const MicroBatchResult result = run_micro_batch(batch, report);
    sum.loss_sum += result.loss_sum;
    sum.is_finite = sum.is_finite && result.is_finite;
    if (!sum.is_finite) break;
  }
  return sum;
}

void Trainer::update_weights(StepReport& report) {
  Context ctx(backend_);
  model_->parameters().zero_unwritten_gradients(ctx);
  if (recipe_.optimizer.in_backward) {
    for (Parameter& parameter : model_->parameters().all()) {
      if (parameter.gradient.defined()) update_now(parameter, report.learning_rate);  // no backward pass reached it
    }
    report.gradient_norm = optimizer_.seen_gradient_norm(ctx);
  } else {
    report.gradient_norm = optimizer_.gradient_norm(ctx);
    report.is_skipped = !std::isfinite(report.gradient_norm);
    if (report.is_skipped) return;
    optimizer_.update(ctx, report.learning_rate, state_.updates + 1, report.gradient_norm);
  }
  state_.updates += 1;
}

StepReport Trainer::step() {
  const Clock::time_point start = Clock::now();
  const double wait_before = data_wait_seconds();
  StepReport report;
  report.total_steps = recipe_.horizon.steps;
  report.learning_rate =
      learning_rate_at(recipe_.schedule, recipe_.optimizer.learning_rate, state_.step, report.total_steps);

  // All batches first: the gradient is a mean over the valid tokens of the whole step.
  std::vector<Batch> batches;
  for (int64_t i = 0; i < recipe_.data.accumulation; ++i) {
    batches.push_back(data_.training->next());
    report.step_tokens += batches.back().num_valid;
  }
  if (report.step_tokens > 0) {
    const MicroBatchResult sum = run_micro_batches(batches, report);
    report.loss = sum.loss_sum / static_cast<double>(report.step_tokens);
    report.is_skipped = !sum.is_finite;
    if (!report.is_skipped) update_weights(report);
  }

  state_.step += 1;
  state_.tokens += report.step_tokens;
  state_.skipped += report.is_skipped ? 1 : 0;
  state_.consecutive_skips = report.is_skipped ? state_.consecutive_skips + 1 : 0;
  state_.stream = data_.training->state();
  report.step = state_.step;
  report.tokens = state_.tokens;
  report.epoch = state_.stream.epoch;
  report.consecutive_skips = state_.consecutive_skips;
  report.seconds = seconds_since(start);
  report.data_wait_seconds = data_wait_seconds() - wait_before;
  report.tokens_per_second = static_cast<double>(report.step_tokens) / std::max(1e-9, report.seconds);
  report.flops_per_second = report.tokens_per_second * model_->training_flops_per_token();
  return report;
}

void Trainer::check_skips() const {
  if (state_.consecutive_skips < recipe_.optimizer.skip_limit) return;
  throw Error(
      ErrorKind::invalid_argument,
      fmt::format("training diverged: loss or gradient was not finite in {} steps one after the other, the last "
                  "of them step {}",
                  state_.consecutive_skips, state_.step),
      "lower optimizer.learning_rate, lengthen schedule.warmup_steps, or try compute.precision = \"f32\"");
}

void Trainer::evaluate_batch(const Batch& batch, EvaluationSums& sums) {
  model_->parameters().release_gradients();
  Context ctx(backend_);
  const ModelInput input = upload(ctx, batch);
  const Tensor targets = ctx.from_values<int32_t>({batch.batch_size, batch.context}, batch.targets, MemoryKind::batch);
  const std::span<const float> losses = read_losses(model_->losses(ctx, input, targets, 0.0f));
  for (size_t i = 0; i < losses.size(); ++i) {
    const int32_t target = batch.targets[i];
    if (target < 0) continue;
    const auto id = static_cast<size_t>(target);
    const int32_t bytes = id < data_.token_byte_lengths.size() ? data_.token_byte_lengths[id] : 0;
    sums.nats += static_cast<double>(losses[i]);
    sums.tokens += 1;
    sums.bytes += bytes;
    if (bytes > 0) sums.text_nats += static_cast<double>(losses[i]);
  }
}

EvaluationResult Trainer::evaluate() {
  check(can_evaluate(), ErrorKind::invalid_argument, "the data folder has no validation tokens to evaluate on");
  const Clock::time_point start = Clock::now();
  model_->parameters().release_gradients();
  EvaluationSums sums;
  for (int64_t i = 0; i < data_.validation->num_batches(); ++i) evaluate_batch(data_.validation->batch(i), sums);
  EvaluationResult result;
  result.step = state_.step;
  result.tokens = sums.tokens;
  result.bytes = sums.bytes;
  result.loss = sums.nats / static_cast<double>(std::max<int64_t>(1, sums.tokens));
  result.perplexity = std::exp(result.loss);
  result.bits_per_byte = sums.text_nats / std::numbers::ln2 / static_cast<double>(std::max<int64_t>(1, sums.bytes));
  result.seconds = seconds_since(start);
  return result;
}

}  // namespace owlet
