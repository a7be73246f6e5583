// How a training plan looks to a person and to scripts, and the check that it fits this machine.
#pragma once

#include "cli/console.hpp"
#include "planner/training_plan.hpp"

namespace owlet {

void show_plan(const TrainingPlan& plan, Console& console);

/// Throws Error out_of_memory, with both numbers and what would help, if the plan needs more than is free.
void check_fits(const TrainingPlan& plan, const Recipe& recipe, uint64_t available_bytes);

}  // namespace owlet
