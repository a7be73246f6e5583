// What a training run will need, found by running the trainer itself on the plan backend.
//
//   TrainingPlan plan = plan_training(recipe, tokenizer.vocab_size(), {.machine = load_machine_profile(path)});
//   plan.peak_bytes;      // equals the allocator's arena of the real run
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "machine/machine_profile.hpp"
#include "ops/any_op.hpp"
#include "ops/caching_allocator.hpp"
#include "train/recipe.hpp"

namespace owlet {

struct PlanInputs {
  /// With measured peaks: seconds are predicted.
  std::optional<MachineProfile> machine{};
  /// Scratch memory of the planned backend; empty: the CPU backend's.
  std::function<size_t(const AnyOp&)> workspace_bytes{};
  /// For recipes whose horizon is epochs; 0 with such a recipe is an Error.
  int64_t train_tokens = 0;
};

/// One kind of memory at the peak. All rows add up to peak_bytes.
struct PlanMemoryRow {
  std::string kind;  ///< name of a MemoryKind, or "allocator_gaps"
  uint64_t bytes = 0;
};

/// Operations of one training step under one name.
struct PlanOperationRow {
  std::string name;
  uint64_t count = 0;
  double flops = 0, bytes = 0, seconds = 0;
};

struct TrainingPlan {
  uint64_t peak_bytes = 0;  ///< arena of the allocator
  std::vector<PlanMemoryRow> breakdown;
  int64_t parameters = 0;
  double flops_per_step = 0;
  double bytes_per_step = 0;  ///< moved between memory and processor, read and written
  int64_t steps = 0, tokens = 0;
  /// Sums of each operation's roofline time with every operation at its measured peak: a lower bound. 0: not measured.
  double seconds_per_step = 0;
  double seconds = 0;                        ///< all training steps
  uint64_t checkpoint_bytes = 0;             ///< disk, one checkpoint
  std::vector<PlanOperationRow> operations;  ///< of one step, most FLOPs first

  bool has_time() const { return seconds_per_step > 0; }
};

/// Builds the trainer, runs two steps, one evaluation batch and sizes a checkpoint, computing nothing.
/// Throws Error invalid_argument for a bad recipe.
TrainingPlan plan_training(const Recipe& recipe, int64_t vocab_size, const PlanInputs& inputs = {});

}  // namespace owlet
