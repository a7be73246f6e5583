// `owlet bench train` and `owlet bench ladder`: whole training steps on random tokens, timed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "backends/profiled/profiled_backend.hpp"
#include "cli/command.hpp"
#include "machine/measure_memory.hpp"
#include "train/recipe.hpp"

namespace owlet {

/// One training to time.
struct TrainingBench {
  /// Resolved, with model.vocab; its horizon is ignored.
  Recipe recipe;
  /// Steps before those that count, and those.
  int64_t warmup_steps = 2, steps = 5;
  /// Rows of the table by operation and shape instead of by operation.
  bool by_shape = false;
  /// Folder for the weights before the first step and the batches of all steps, in safetensors; empty: not written.
  std::string save_start;
};

struct TrainingBenchResult {
  std::vector<double> seconds;  ///< of each step that counts
  std::vector<double> losses;   ///< of all steps, warm-up included
  double step_seconds = 0;      ///< median
  double tokens_per_second = 0;
  double flops_per_second = 0;      ///< 6 FLOPs per non-embedding and output-head parameter and token, nothing else
  uint64_t peak_bytes = 0;          ///< arena of the allocator
  uint64_t resident_bytes = 0;      ///< largest resident size of the process up to the end of this training
  double page_faults_per_step = 0;  ///< of the steps that count
  int64_t parameters = 0;
  std::vector<ProfileRow> operations;  ///< of the steps that count
};

/// Trains and times. Throws what Trainer throws.
TrainingBenchResult run_training_bench(const TrainingBench& bench, Program& program, const RooflinePeaks& peaks);

/// Peaks of this moment; each takes about `seconds_per_peak`, reading memory goes over `buffer_bytes`.
RooflinePeaks measure_roofline_peaks(double seconds_per_peak = 0.4, uint64_t buffer_bytes = uint64_t{256} << 20);
void set_memory_speeds(RooflinePeaks& peaks, const MemorySpeeds& memory);

/// What `owlet bench train` was asked; empty strings and zeros keep the preset's choice.
struct BenchTrainArguments {
  std::string preset;
  int64_t context = 0, batch = 0, steps = 5;
  std::string dtype, attention, optimizer, weights, checkpointing, save_start;
  bool by_shape = false;
  std::vector<std::string> overrides;
};

int bench_train(const BenchTrainArguments& arguments, Program& program);

struct BenchLadderArguments {
  /// Bytes need long contexts: attention has a share in the step that larger models have at longer ones.
  std::string preset = "shakespeare-bytes";
  int64_t context = 1024, batch = 8, steps = 3;
};

/// The same step without and with each of the methods that make it fast and small.
int bench_ladder(const BenchLadderArguments& arguments, Program& program);

}  // namespace owlet
