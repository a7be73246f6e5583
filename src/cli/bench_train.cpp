#include "cli/bench_train.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>

#include "base/error.hpp"
#include "base/human.hpp"
#include "base/text_table.hpp"
#include "cli/bench_start_files.hpp"
#include "cli/plan_view.hpp"
#include "cli/program_backend.hpp"
#include "cli/recipe_folders.hpp"
#include "machine/machine_profile.hpp"
#include "machine/measure_memory.hpp"
#include "machine/measure_peaks.hpp"
#include "machine/measure_timing.hpp"
#include "machine/process_memory.hpp"
#include "planner/training_plan.hpp"
#include "train/random_data.hpp"
#include "train/trainer.hpp"

namespace owlet {
namespace {

constexpr uint64_t kDataSeed = 1;

/// The recipe behind a name with what the command line changes.
Recipe bench_recipe(const std::string& preset, const std::vector<std::string>& overrides) {
  const auto path = find_recipe(preset, recipe_folders());
  Recipe recipe = load_recipe(path, overrides);
  if (recipe.model.vocab <= 0) {
    throw Error(ErrorKind::invalid_argument, fmt::format("'{}' does not say how large its vocabulary is", preset),
                "add --set model.vocab=N, or take one that comes with Owlet, such as stories-15m");
  }
  recipe.horizon = {.steps = 1 << 20};
  recipe.evaluation.every = 0;
  recipe.resolve(0);
  return recipe;
}

std::vector<std::string> overrides_of(const BenchTrainArguments& arguments) {
  std::vector<std::string> overrides;
  const auto add = [&](const char* key, const std::string& value) {
    if (!value.empty()) overrides.push_back(fmt::format("{}={}", key, value));
  };
  if (arguments.context > 0) overrides.push_back(fmt::format("model.context={}", arguments.context));
  if (arguments.batch > 0) overrides.push_back(fmt::format("data.batch={}", arguments.batch));
  add("compute.precision", arguments.dtype);
  add("compute.attention", arguments.attention);
  add("optimizer.kind", arguments.optimizer);
  add("compute.weights", arguments.weights);
  add("compute.checkpointing", arguments.checkpointing);
  overrides.insert(overrides.end(), arguments.overrides.begin(), arguments.overrides.end());
  return overrides;
}

void check_bench_fits(const TrainingBench& bench) {
  check_fits(plan_training(bench.recipe, bench.recipe.model.vocab), bench.recipe,
             read_machine().memory_available_bytes);
}

double peak_of(const Recipe& recipe, const RooflinePeaks& peaks) {
  return recipe.compute.precision == DType::bf16 && peaks.bf16_gflops > 0 ? peaks.bf16_gflops : peaks.f32_gflops;
}

OrderedJson operations_json(const std::vector<ProfileRow>& rows, int64_t steps) {
  OrderedJson operations = OrderedJson::array();
  for (const ProfileRow& row : rows) {
    operations.push_back({{"name", row.name},
                          {"calls", row.calls / static_cast<uint64_t>(steps)},
                          {"seconds", row.seconds / static_cast<double>(steps)},
                          {"share", row.share},
                          {"gflops", row.gflops},
                          {"gbytes_per_second", row.gigabytes_per_second},
                          {"percent_of_limit", 100 * row.roofline_share}});
  }
  return operations;
}

OrderedJson bench_json(const TrainingBench& bench, const TrainingBenchResult& result, const RooflinePeaks& peaks) {
  const Recipe& recipe = bench.recipe;
  return {{"tokens_per_second", result.tokens_per_second},
          {"gflops", result.flops_per_second / 1e9},
          {"percent_of_peak", 100 * result.flops_per_second / 1e9 / peak_of(recipe, peaks)},
          {"peak_gflops_bf16", peaks.bf16_gflops},
          {"peak_gflops_f32", peaks.f32_gflops},
          {"peak_bytes", result.peak_bytes},
          {"peak_resident_bytes", result.resident_bytes},
          {"step_seconds", result.step_seconds},
          {"all_step_seconds", result.seconds},
          {"losses", result.losses},
          {"page_faults_per_step", result.page_faults_per_step},
          {"parameters", result.parameters},
          {"context", recipe.model.context},
          {"batch", recipe.data.batch},
          {"operations", operations_json(result.operations, bench.steps)}};
}

void show(const TrainingBench& bench, const TrainingBenchResult& result, const RooflinePeaks& peaks, Console& console) {
  std::string table = format_profile(result.operations);
  if (!table.empty()) table.pop_back();
  console.result(table);
  console.result(fmt::format("{} parameters, batch {} x context {}: {:.3f} s per step (median of {}), {} tokens/s",
                             format_count(static_cast<double>(result.parameters)), bench.recipe.data.batch,
                             bench.recipe.model.context, result.step_seconds, result.seconds.size(),
                             format_count(result.tokens_per_second)));
  console.result(
      fmt::format("{:.0f} GFLOP/s counted as 6 per parameter and token: {:.1f} % of the {:.0f} measured just now",
                  result.flops_per_second / 1e9, 100 * result.flops_per_second / 1e9 / peak_of(bench.recipe, peaks),
                  peak_of(bench.recipe, peaks)));
  console.result(fmt::format("memory: {} arena, {} the whole process at its peak; {:.0f} page faults per step",
                             format_bytes(result.peak_bytes), format_bytes(result.resident_bytes),
                             result.page_faults_per_step));
}

}  // namespace

RooflinePeaks measure_roofline_peaks(double seconds_per_peak, uint64_t buffer_bytes) {
  RooflinePeaks peaks{.f32_gflops = measure_f32_gflops(seconds_per_peak),
                      .bf16_gflops = measure_bf16_gflops(seconds_per_peak)};
  set_memory_speeds(peaks, measure_memory(seconds_per_peak, buffer_bytes));
  return peaks;
}

void set_memory_speeds(RooflinePeaks& peaks, const MemorySpeeds& memory) {
  peaks.gigabytes_per_second = memory.read_gb_per_second;
  peaks.write_gigabytes_per_second = memory.write_gb_per_second;
  peaks.copy_gigabytes_per_second = memory.copy_gb_per_second;
}

TrainingBenchResult run_training_bench(const TrainingBench& bench, Program& program, const RooflinePeaks& peaks) {
  const auto backend = make_backend(program);
  ProfiledBackend profiled(*backend, {.by_shape = bench.by_shape, .clock = {}});
  Trainer trainer(profiled, bench.recipe, make_random_training_data(bench.recipe, bench.recipe.model.vocab, kDataSeed));
  if (!bench.save_start.empty()) {
    save_bench_start(bench.save_start, trainer,
                     *make_random_training_data(bench.recipe, bench.recipe.model.vocab, kDataSeed).training,
                     bench.warmup_steps + bench.steps);
  }
  TrainingBenchResult result;
  for (int64_t i = 0; i < bench.warmup_steps; ++i) result.losses.push_back(trainer.step().loss);
  profiled.reset();
  const uint64_t faults_before = read_process_memory().num_minor_faults;
  for (int64_t i = 0; i < bench.steps; ++i) {
    const StepReport report = trainer.step();
    result.losses.push_back(report.loss);
    result.seconds.push_back(report.seconds);
    program.console.progress(fmt::format("step {}/{}: {:.3f} s", i + 1, bench.steps, report.seconds));
  }
  program.console.clear_progress();
  const ProcessMemory memory = read_process_memory();
  result.page_faults_per_step =
      static_cast<double>(memory.num_minor_faults - faults_before) / static_cast<double>(bench.steps);
  result.step_seconds = median(result.seconds);
  result.tokens_per_second = static_cast<double>(bench.recipe.tokens_per_step()) / result.step_seconds;
  result.flops_per_second = result.tokens_per_second * trainer.model().training_flops_per_token();
  result.peak_bytes = backend->allocator().statistics().arena_bytes;
  result.resident_bytes = memory.peak_resident_bytes;
  result.parameters = trainer.model().parameters().num_elements();
  result.operations = profiled.report(peaks);
  return result;
}

int bench_train(const BenchTrainArguments& arguments, Program& program) {
  apply_threads(program);
  TrainingBench bench;
  bench.recipe = bench_recipe(arguments.preset, overrides_of(arguments));
  bench.steps = arguments.steps;
  bench.save_start = arguments.save_start;
  bench.by_shape = arguments.by_shape;
  check_bench_fits(bench);
  program.console.progress("measuring the machine …");
  const RooflinePeaks peaks = measure_roofline_peaks();
  program.console.clear_progress();
  const TrainingBenchResult result = run_training_bench(bench, program, peaks);
  show(bench, result, peaks, program.console);
  program.console.json_result(bench_json(bench, result, peaks));
  return 0;
}

namespace {

struct Rung {
  const char* name;
  std::vector<std::string> overrides;
};

std::vector<Rung> ladder_rungs(const BenchLadderArguments& arguments) {
  // A whole batch of logits at once is what a program without the fused head holds.
  const std::string whole_logits = fmt::format("compute.loss_chunk_rows={}", arguments.context * arguments.batch);
  return {
      {"f32, plain attention", {"compute.precision=f32", "compute.attention=plain", whole_logits}},
      {"+ flash attention", {"compute.precision=f32", whole_logits}},
      {"+ bf16", {whole_logits}},
      {"+ fused output head", {}},
  };
}

TrainingBenchResult run_rung(const BenchLadderArguments& arguments, const Rung& rung, Program& program,
                             const RooflinePeaks& peaks) {
  std::vector<std::string> overrides{fmt::format("model.context={}", arguments.context),
                                     fmt::format("data.batch={}", arguments.batch)};
  overrides.insert(overrides.end(), rung.overrides.begin(), rung.overrides.end());
  TrainingBench bench;
  bench.recipe = bench_recipe(arguments.preset, overrides);
  bench.steps = arguments.steps;
  check_bench_fits(bench);
  return run_training_bench(bench, program, peaks);
}

}  // namespace

int bench_ladder(const BenchLadderArguments& arguments, Program& program) {
  apply_threads(program);
  const RooflinePeaks peaks = measure_roofline_peaks();
  TextTable table;
  table.add_column("step with");
  for (const char* header : {"seconds", "tokens/s", "faster", "memory", "smaller"}) {
    table.add_column(header, TextTable::Align::right);
  }
  OrderedJson rows = OrderedJson::array();
  TrainingBenchResult first;
  for (const Rung& rung : ladder_rungs(arguments)) {
    const TrainingBenchResult result = run_rung(arguments, rung, program, peaks);
    if (first.seconds.empty()) first = result;
    const double smaller = static_cast<double>(first.peak_bytes) / static_cast<double>(result.peak_bytes);
    table.add_row({rung.name, fmt::format("{:.3f}", result.step_seconds), format_count(result.tokens_per_second),
                   fmt::format("{:.1f} x", first.step_seconds / result.step_seconds), format_bytes(result.peak_bytes),
                   fmt::format("{:.1f} x", smaller)});
    rows.push_back({{"name", rung.name},
                    {"step_seconds", result.step_seconds},
                    {"tokens_per_second", result.tokens_per_second},
                    {"peak_bytes", result.peak_bytes},
                    {"losses", result.losses}});
  }
  std::string text = table.to_string();
  if (!text.empty()) text.pop_back();
  program.console.result(text);
  program.console.json_result({{"rungs", rows},
                               {"preset", arguments.preset},
                               {"context", arguments.context},
                               {"batch", arguments.batch},
                               {"peak_gflops_bf16", peaks.bf16_gflops},
                               {"peak_gflops_f32", peaks.f32_gflops}});
  return 0;
}

}  // namespace owlet
