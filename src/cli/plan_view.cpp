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

void check_fits(const TrainingPlan& plan, const Recipe& recipe, uint64_t available_bytes) {
  if (plan.peak_bytes <= available_bytes) return;
  throw Error(
      ErrorKind::out_of_memory,
      fmt::format("this run needs {}, {} are free on this machine", format_bytes(plan.peak_bytes),
                  format_bytes(available_bytes)),
      fmt::format(
          "try --set data.batch={} (with data.accumulation doubled), --set compute.checkpointing=\"block\" or a "
          "smaller model.context; --dry-run shows what needs how much",
          std::max<int64_t>(1, recipe.data.batch / 2)));
}

}  // namespace owlet
