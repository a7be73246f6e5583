#include "train/schedule.hpp"

#include <gtest/gtest.h>

namespace owlet {
namespace {

ScheduleRecipe make_schedule(ScheduleKind kind, int64_t warmup_steps = 10) {
  ScheduleRecipe schedule;
  schedule.kind = kind;
  schedule.warmup_steps = warmup_steps;
  schedule.min_lr_ratio = 0.1;
  schedule.decay_fraction = 0.2;
  return schedule;
}

TEST(Schedule, warms_up_linearly_and_reaches_the_peak_at_the_last_warmup_step) {
  for (const ScheduleKind kind : {ScheduleKind::cosine, ScheduleKind::wsd, ScheduleKind::constant}) {
    const ScheduleRecipe schedule = make_schedule(kind);
    EXPECT_DOUBLE_EQ(learning_rate_at(schedule, 1.0, 0, 100), 0.1);
    EXPECT_DOUBLE_EQ(learning_rate_at(schedule, 1.0, 4, 100), 0.5);
    EXPECT_DOUBLE_EQ(learning_rate_at(schedule, 1.0, 9, 100), 1.0);
  }
}

TEST(Schedule, cosine_falls_to_the_smallest_rate_at_the_last_step) {
  const ScheduleRecipe schedule = make_schedule(ScheduleKind::cosine, 1);
  EXPECT_DOUBLE_EQ(learning_rate_at(schedule, 1.0, 0, 101), 1.0);
  EXPECT_NEAR(learning_rate_at(schedule, 1.0, 50, 101), 0.55, 1e-12);
  EXPECT_NEAR(learning_rate_at(schedule, 1.0, 100, 101), 0.1, 1e-12);
}

TEST(Schedule, wsd_stays_at_the_peak_and_falls_over_the_last_share) {
  const ScheduleRecipe schedule = make_schedule(ScheduleKind::wsd);
  EXPECT_DOUBLE_EQ(learning_rate_at(schedule, 2.0, 50, 101), 2.0);
  EXPECT_DOUBLE_EQ(learning_rate_at(schedule, 2.0, 80, 101), 2.0);
  EXPECT_NEAR(learning_rate_at(schedule, 2.0, 90, 101), 1.1, 1e-12);
  EXPECT_NEAR(learning_rate_at(schedule, 2.0, 100, 101), 0.2, 1e-12);
}

TEST(Schedule, never_rises_after_warmup_never_exceeds_the_peak_and_stays_past_the_end) {
  for (const ScheduleKind kind : {ScheduleKind::cosine, ScheduleKind::wsd, ScheduleKind::constant}) {
    for (const int64_t total : {1, 2, 5, 10, 11, 12, 100}) {
      for (const int64_t warmup : {0, 1, 2, 10, 1000}) {
        const ScheduleRecipe schedule = make_schedule(kind, warmup);
        double before = 1e9;
        for (int64_t step = std::max<int64_t>(0, std::min(warmup, total) - 1); step < total + 20; ++step) {
          const double rate = learning_rate_at(schedule, 1.0, step, total);
          EXPECT_LE(rate, before) << to_string(kind) << " step " << step << " of " << total << ", warm-up " << warmup;
          EXPECT_LE(rate, 1.0);
          EXPECT_GE(rate, 0.1);
          before = rate;
        }
        EXPECT_EQ(learning_rate_at(schedule, 1.0, total + 1000, total),
                  learning_rate_at(schedule, 1.0, total - 1, total));
      }
    }
  }
}

}  // namespace
}  // namespace owlet
