#include "backends/profiled/profiled_backend.hpp"

#include <gtest/gtest.h>

#include "backends/plan/plan_backend.hpp"
#include "ops/context.hpp"

namespace owlet {
namespace {

/// A clock that every run() finds `step` seconds later at its end than at its start.
std::function<double()> stepping_clock(const double& step) {
  return [now = 0.0, &step]() mutable { return now += step; };
}

TEST(ProfiledBackend, times_operations_against_the_roofline) {
  const auto plan = make_plan_backend({});
  double step = 0.5;
  ProfiledBackend profiled(*plan, {.by_shape = false, .clock = stepping_clock(step)});
  Context ctx(profiled);
  const Tensor a = ctx.empty({1000}, DType::f32), half = ctx.empty({1000}, DType::bf16);
  add(ctx, a, a);
  add(ctx, a, a);
  step = 3;
  ctx.run(op::Fill{half, 1});

  const auto rows = profiled.report({.f32_gflops = 1e-6, .bf16_gflops = 4e-6, .gigabytes_per_second = 1e-6});
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].name, "fill bf16");
  EXPECT_EQ(rows[0].calls, 1u);
  EXPECT_DOUBLE_EQ(rows[0].seconds, 3);
  EXPECT_DOUBLE_EQ(rows[0].share, 0.75);
  EXPECT_DOUBLE_EQ(rows[0].roofline_share, 2.0 / 3.0);  // 2000 bytes at 1000 bytes/s in 3 s
  EXPECT_EQ(rows[1].name, "add f32");
  EXPECT_EQ(rows[1].calls, 2u);
  EXPECT_DOUBLE_EQ(rows[1].seconds, 1);
  EXPECT_DOUBLE_EQ(rows[1].gflops, 2000 * 1e-9);
  EXPECT_DOUBLE_EQ(rows[1].gigabytes_per_second, 24000 * 1e-9);
  EXPECT_EQ(plan->report().rows.size(), 2u);  // everything was forwarded
}

TEST(ProfiledBackend, tells_shapes_apart_where_asked) {
  const auto plan = make_plan_backend({});
  ProfiledBackend profiled(*plan, {.by_shape = true, .clock = {}});
  Context ctx(profiled);
  const Tensor weight = ctx.empty({5, 3}, DType::f32);
  linear(ctx, ctx.empty({2, 3}, DType::f32), weight);
  linear(ctx, ctx.empty({4, 3}, DType::f32), weight);
  const auto rows = profiled.report();
  ASSERT_EQ(rows.size(), 2u);
  for (const auto& row : rows) EXPECT_TRUE(row.name.ends_with("3) x (5, 3)")) << row.name;
  profiled.reset();
  EXPECT_TRUE(profiled.report().empty());
}

TEST(ProfiledBackend, shows_what_the_inner_backend_shows) {
  const auto plan = make_plan_backend({});
  ProfiledBackend profiled(*plan);
  EXPECT_EQ(profiled.name(), "plan");
  EXPECT_FALSE(profiled.computes());
  EXPECT_EQ(&profiled.allocator(), &plan->allocator());
}

TEST(ProfiledBackend, roofline_takes_the_longer_of_computing_and_moving) {
  const Cost cost{.flops = 6e9, .bytes_read = 1e9, .bytes_written = 1e9};
  const RooflinePeaks peaks{.f32_gflops = 1, .bf16_gflops = 4, .gigabytes_per_second = 1};
  EXPECT_DOUBLE_EQ(roofline_seconds(cost, DType::f32, peaks), 6);
  EXPECT_DOUBLE_EQ(roofline_seconds(cost, DType::bf16, peaks), 2);
  EXPECT_DOUBLE_EQ(roofline_seconds(cost, DType::bf16, {}), 0);
}

TEST(ProfiledBackend, roofline_knows_the_speeds_of_reading_writing_and_both) {
  const RooflinePeaks peaks{.gigabytes_per_second = 4, .write_gigabytes_per_second = 2, .copy_gigabytes_per_second = 5};
  EXPECT_DOUBLE_EQ(roofline_seconds({.bytes_read = 8e9}, DType::f32, peaks), 2);
  EXPECT_DOUBLE_EQ(roofline_seconds({.bytes_written = 8e9}, DType::f32, peaks), 4);
  EXPECT_DOUBLE_EQ(roofline_seconds({.bytes_read = 12e9, .bytes_written = 8e9}, DType::f32, peaks), 4);
}

TEST(ProfiledBackend, formats_a_table_with_sums) {
  ProfileRow row;
  row.name = "add f32";
  row.calls = 2;
  row.seconds = 0.5;
  row.share = 1;
  row.cost = {1e9, 2e9, 0};
  row.gflops = 2;
  row.gigabytes_per_second = 4;
  EXPECT_EQ(format_profile({row}),
            "operation  calls       ms   share  GFLOP/s  GB/s\n"
            "add f32        2  500.000  100.0%      2.0   4.0\n"
            "total          2  500.000  100.0%      2.0   4.0\n");
  row.roofline_share = 0.25;
  EXPECT_NE(format_profile({row}).find("25%"), std::string::npos);
}

}  // namespace
}  // namespace owlet
