// After its first steps a training run asks the system for no more memory: neither does the arena grow nor are pages
// touched for the first time.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "backends/cpu/cpu_backend.hpp"
#include "machine/process_memory.hpp"
#include "tests/support/tiny_training.hpp"
#include "train/random_data.hpp"
#include "train/trainer.hpp"

namespace owlet {
namespace {

using testing::make_tiny_dataset;
using testing::tiny_recipe;

struct SteadyCase {
  const char* name;
  void (*change)(Recipe&);
};

const SteadyCase kCases[] = {
    {"f32 moments", [](Recipe&) {}},
    {"accumulated", [](Recipe& recipe) { recipe.data.accumulation = 3; }},
    {"small",
     [](Recipe& recipe) {
       recipe.optimizer.kind = OptimizerKind::adamw8bit;
       recipe.compute.weights = DType::bf16;
       recipe.compute.checkpointing = 1;
     }},
    {"updated in backward",
     [](Recipe& recipe) {
       recipe.optimizer.in_backward = true;
       recipe.optimizer.clip = 0;
     }},
};

TEST(SteadyMemory, NoAllocationReachesTheSystemAfterTheFirstSteps) {
  constexpr int kSteps = 9;
  keep_freed_memory();
  TemporaryFolder folder;
  const Dataset dataset = make_tiny_dataset(folder.path(), 400);
  for (const bool is_random : {true, false}) {
    for (const SteadyCase& each : kCases) {
      Recipe recipe = tiny_recipe(50, DType::bf16);
      recipe.model.width = 64;
      recipe.model.context = 256;
      recipe.data.batch = 32;  // batches of 128 KiB a field, where malloc turns to the system
      each.change(recipe);
      const auto backend = make_cpu_backend();
      TrainingData data = is_random ? make_random_training_data(recipe, 257, 1) : make_training_data(dataset, recipe);
      Trainer trainer(*backend, recipe, std::move(data));
      for (int i = 0; i < 4; ++i) trainer.step();
      const uint64_t growths = backend->allocator().statistics().num_growths;
      std::vector<uint64_t> faults;
      for (int i = 0; i < kSteps; ++i) {
        const uint64_t before = read_process_memory().num_minor_faults;
        trainer.step();
        faults.push_back(read_process_memory().num_minor_faults - before);
      }
      EXPECT_EQ(backend->allocator().statistics().num_growths, growths) << each.name;
      // The heap of batches may still grow once or twice: the median tells what a step costs.
      std::ranges::sort(faults);
      EXPECT_LE(faults[kSteps / 2], 1u) << each.name;
    }
  }
}

}  // namespace
}  // namespace owlet
