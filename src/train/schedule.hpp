// The learning rate as a pure function of the step.
#pragma once

#include <cstdint>

#include "train/recipe.hpp"

namespace owlet {

/// Learning rate of update `step` (from 0) of `total_steps`. It rises linearly over min(warmup_steps, total_steps)
/// updates and reaches the peak at the last of them; then
///   cosine    falls along half a cosine to min_lr_ratio * peak at the last step (Loshchilov and Hutter,
///             arXiv:1608.03983);
///   wsd       stays at the peak, then falls linearly over the last decay_fraction of all steps (Hu et al.,
///             arXiv:2404.06395);
///   constant  stays.
/// It never exceeds the peak, never rises after the warm-up, and stays at its last value past the end.
double learning_rate_at(const ScheduleRecipe& schedule, double peak, int64_t step, int64_t total_steps);

}  // namespace owlet
