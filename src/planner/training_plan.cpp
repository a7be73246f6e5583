#include "planner/training_plan.hpp"

#include <algorithm>
#include <map>

#include "backends/cpu/cpu_backend.hpp"
#include "backends/plan/plan_backend.hpp"
#include "backends/profiled/profiled_backend.hpp"
#include "ops/op_fields.hpp"
#include "train/checkpoint.hpp"
#include "train/trainer.hpp"

namespace owlet {
namespace {

/// Element type that an operation computes in: the type of its first tensor of that role, f32 where it has none.
DType compute_type(const AnyOp& op) {
  AnyOp copy = op;
  for (const OpField& field : op_fields(copy)) {
    if (field.type == FieldType::activation && field.tensor->defined()) return field.tensor->dtype();
  }
  return DType::f32;
}

RooflinePeaks peaks_of(const PlanInputs& inputs) {
  if (!inputs.machine || !inputs.machine->is_measured()) return {};
  return {.f32_gflops = inputs.machine->f32_gflops,
          .bf16_gflops = inputs.machine->bf16_gflops,
          .gigabytes_per_second = inputs.machine->read_gb_per_second,
          .write_gigabytes_per_second = inputs.machine->write_gb_per_second,
          .copy_gigabytes_per_second = inputs.machine->copy_gb_per_second};
}

/// Adds up the operations of one step by name.
class OperationSums {
 public:
  explicit OperationSums(const RooflinePeaks& peaks) : peaks_(peaks) {}

  void add(const AnyOp& op, const Cost& cost) {
    PlanOperationRow& row = rows_[std::string(op.name())];
    row.count += 1;
    row.flops += cost.flops;
    row.bytes += cost.bytes_read + cost.bytes_written;
    row.seconds += roofline_seconds(cost, compute_type(op), peaks_);
  }

  void report(TrainingPlan& plan) const {
    for (const auto& [name, row] : rows_) {
      plan.operations.push_back(row);
      plan.operations.back().name = name;
      plan.flops_per_step += row.flops;
      plan.bytes_per_step += row.bytes;
      plan.seconds_per_step += row.seconds;
    }
    std::ranges::sort(plan.operations, std::greater{}, &PlanOperationRow::flops);
  }

 private:
  RooflinePeaks peaks_;
  std::map<std::string, PlanOperationRow> rows_;
};

void report_memory(const MemoryStatistics& memory, TrainingPlan& plan) {
  plan.peak_bytes = memory.arena_bytes;
  for (size_t i = 0; i < memory.peak_by_kind.size(); ++i) {
    if (memory.peak_by_kind[i] == 0) continue;
    plan.breakdown.push_back({std::string(to_string(static_cast<MemoryKind>(i))), memory.peak_by_kind[i]});
  }
  plan.breakdown.push_back({"allocator_gaps", memory.arena_bytes - memory.peak_in_use_bytes});
}

}  // namespace

TrainingPlan plan_training(const Recipe& recipe, int64_t vocab_size, const PlanInputs& inputs) {
  Recipe resolved = recipe;
  resolved.resolve(inputs.train_tokens);
  const auto backend = make_plan_backend(
      inputs.workspace_bytes ? inputs.workspace_bytes : [](const AnyOp& op) { return cpu_workspace_bytes(op); });
  Trainer trainer(*backend, resolved, make_synthetic_training_data(resolved, vocab_size));

  // The second step is like all later ones: no memory is touched for the first time any more.
  trainer.step();
  OperationSums sums(peaks_of(inputs));
  backend->on_operation([&](const AnyOp& op, const Cost& cost) { sums.add(op, cost); });
  trainer.step();
  backend->on_operation({});
  EvaluationSums ignored;
  trainer.evaluate_batch(make_synthetic_batch(resolved), ignored);

  TrainingPlan plan;
  report_memory(backend->allocator().statistics(), plan);
  sums.report(plan);
  plan.parameters = trainer.model().parameters().num_elements();
  plan.steps = resolved.horizon.steps;
  plan.tokens = plan.steps * resolved.tokens_per_step();
  plan.seconds = plan.seconds_per_step * static_cast<double>(plan.steps);
  plan.checkpoint_bytes = checkpoint_bytes(trainer);
  return plan;
}

}  // namespace owlet
