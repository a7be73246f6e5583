#include "train/schedule.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace owlet {

double learning_rate_at(const ScheduleRecipe& schedule, double peak, int64_t step, int64_t total_steps) {
  const int64_t total = std::max<int64_t>(1, total_steps);
  const int64_t warmup = std::clamp<int64_t>(schedule.warmup_steps, 0, total);
  const int64_t last = total - 1;
  if (step < warmup) return peak * static_cast<double>(step + 1) / static_cast<double>(warmup);

  // Decay begins behind the last step at the peak and ends at the last step of all.
  const int64_t peak_step = std::max<int64_t>(0, warmup - 1);
  const double floor = peak * schedule.min_lr_ratio;
  const auto progress = [&](int64_t begin) {
    return last > begin ? std::clamp(static_cast<double>(step - begin) / static_cast<double>(last - begin), 0.0, 1.0)
                        : 0.0;
  };
  switch (schedule.kind) {
    case ScheduleKind::cosine:
      return floor + (peak - floor) * 0.5 * (1.0 + std::cos(std::numbers::pi * progress(peak_step)));
    case ScheduleKind::wsd: {
      const auto decay_steps = static_cast<int64_t>(std::llround(schedule.decay_fraction * static_cast<double>(total)));
      return std::max(floor, peak + (floor - peak) * progress(std::max(peak_step, last - decay_steps)));
    }
    case ScheduleKind::constant:
      break;
  }
  return peak;
}

}  // namespace owlet
