#include "cli/plan_view.hpp"

#include "base/error.hpp"
#include "base/human.hpp"
#include "base/text_table.hpp"

namespace owlet {

void show_plan(const TrainingPlan& plan, Console& console) {
  TextTable table;
  table.add_column("memory at the peak");
  table.add_column("bytes", TextTable::Align::right);
  table.add_column("", TextTable::Align::right);
  OrderedJson breakdown = OrderedJson::object();
  for (const PlanMemoryRow& row : plan.breakdown) {
    breakdown[row.kind] = row.bytes;
    if (row.bytes > 0) table.add_row({row.kind, std::to_string(row.bytes), format_bytes(row.bytes)});
  }
  table.add_row({"together", std::to_string(plan.peak_bytes), format_bytes(plan.peak_bytes)});
  std::string text = table.to_string();
  if (!text.empty()) text.pop_back();
  console.result(text);
  console.result("and about 40 MB for the program itself and its libraries");
  console.result(fmt::format("{} parameters, {} steps, {} tokens, {}FLOP per step, {} per checkpoint on disk",
                             format_count(static_cast<double>(plan.parameters)), plan.steps,
                             format_count(static_cast<double>(plan.tokens)), format_count(plan.flops_per_step),
                             format_bytes(plan.checkpoint_bytes)));
  if (plan.has_time()) {
    console.result(fmt::format("at this machine's peaks: {} per step, {} in all; expect up to about twice that",
                               format_duration(plan.seconds_per_step), format_duration(plan.seconds)));
  } else {
    console.result("Time: unknown until the machine is measured (owlet machine measure)");
  }
  OrderedJson document = {{"peak_bytes", plan.peak_bytes},
                          {"breakdown", breakdown},
                          {"flops_per_step", plan.flops_per_step},
                          {"parameters", plan.parameters},
                          {"steps", plan.steps},
                          {"tokens", plan.tokens},
                          {"checkpoint_bytes", plan.checkpoint_bytes}};
  document["seconds_per_step"] = plan.has_time() ? OrderedJson(plan.seconds_per_step) : OrderedJson(nullptr);
  document["seconds"] = plan.has_time() ? OrderedJson(plan.seconds) : OrderedJson(nullptr);
  console.json_result(document);
}

namespace {

/// The settings that would make this recipe smaller, those that cost least first.
std::string smaller_settings(const Recipe& recipe) {
  std::vector<std::string> settings;
  if (recipe.compute.checkpointing == 0) settings.emplace_back("--set compute.checkpointing=block");
  if (recipe.optimizer.kind == OptimizerKind::adamw) settings.emplace_back("--set optimizer.kind=adamw8bit");
  if (recipe.compute.weights == DType::f32 && recipe.compute.precision == DType::bf16) {
    settings.emplace_back("--set compute.weights=bf16");
  }
  if (!recipe.optimizer.in_backward) {
    settings.emplace_back("--set optimizer.in_backward=true (with optimizer.clip=0)");
  }
  if (recipe.data.batch > 1) {
    settings.push_back(fmt::format("--set data.batch={} (with data.accumulation doubled)", recipe.data.batch / 2));
  }
  settings.emplace_back("a smaller model.context");
  const std::string last = settings.back();
  settings.pop_back();
  return settings.empty() ? last : fmt::format("{} or {}", fmt::join(settings, ", "), last);
}

}  // namespace

void check_fits(const TrainingPlan& plan, const Recipe& recipe, uint64_t available_bytes) {
  if (plan.peak_bytes <= available_bytes) return;
  throw Error(ErrorKind::out_of_memory,
              fmt::format("this run needs {}, {} are free on this machine", format_bytes(plan.peak_bytes),
                          format_bytes(available_bytes)),
              fmt::format("try {}; --dry-run shows what needs how much", smaller_settings(recipe)));
}

}  // namespace owlet
