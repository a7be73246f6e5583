#include "backends/plan/plan_backend.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "backends/cpu/cpu_backend.hpp"
#include "ops/tape.hpp"

namespace owlet {
namespace {

/// A small model's worth of operations, forward and backward.
void run_program(Backend& backend) {
  Tape tape;
  Context ctx(backend, &tape);
  const int64_t batch = 2, tokens = 40, heads = 4, kv_heads = 2, head_size = 16, width = heads * head_size;
  const auto filled = [&](const Shape& shape) {
    Tensor tensor = ctx.empty(shape, DType::f32);
    ctx.run(op::Fill{tensor, 0.01f});
    return tensor;
  };
  const std::vector<int32_t> positions(static_cast<size_t>(batch * tokens), 3);
  const Tensor position_rows = ctx.from_values<int32_t>({batch, tokens}, positions, MemoryKind::batch);
  const Tensor table = make_rope_table(ctx, 8, head_size, 10000.0);
  const Tensor x = filled({batch, tokens, width});
  const Tensor wq = filled({width, width});
  const Tensor wk = filled({kv_heads * head_size, width});
  const Tensor norm = filled({width});
  for (const Tensor& leaf : {x, wq, wk, norm}) tape.watch_input(leaf);

  const Tensor normed = rms_norm(ctx, x, norm, 1e-5f);
  const Tensor q = linear(ctx, normed, wq).reshape({batch, tokens, heads, head_size});
  const Tensor k = linear(ctx, normed, wk).reshape({batch, tokens, kv_heads, head_size});
  for (const AttentionKind kind : {AttentionKind::flash, AttentionKind::plain}) {
    AttentionOptions options;
    options.kind = kind;
    const Tensor y = attention(ctx, rope(ctx, q, position_rows, table, RopeStyle::halves), k, k, options);
    tape.seed(y, filled(y.shape()));
  }
  tape.backward(ctx);
}

TEST(PlanBackend, needs_the_memory_that_the_cpu_backend_needs) {
  const auto cpu = make_cpu_backend();
  const auto plan = make_plan_backend(cpu_workspace_bytes);
  run_program(*cpu);
  run_program(*plan);
  const MemoryStatistics real = cpu->allocator().statistics(), planned = plan->allocator().statistics();
  EXPECT_EQ(planned.peak_in_use_bytes, real.peak_in_use_bytes);
  EXPECT_EQ(planned.peak_by_kind, real.peak_by_kind);
  EXPECT_EQ(planned.arena_bytes, real.arena_bytes);
  EXPECT_EQ(planned.num_allocations, real.num_allocations);
  EXPECT_EQ(planned.in_use_bytes, real.in_use_bytes);
}

TEST(PlanBackend, sums_cost_by_name_in_order_of_first_use) {
  const auto plan = make_plan_backend({});
  Context ctx(*plan);
  const Tensor a = ctx.empty({10, 10}, DType::f32), b = ctx.empty({10, 10}, DType::f32);
  ctx.run(op::Fill{a, 1});
  add(ctx, a, b);
  ctx.run(op::Fill{b, 1});
  ASSERT_EQ(plan->report().rows.size(), 2u);
  EXPECT_EQ(plan->report().rows[0].name, "fill");
  EXPECT_EQ(plan->report().rows[0].count, 2u);
  EXPECT_EQ(plan->report().rows[0].cost.bytes_written, 800);
  EXPECT_EQ(plan->report().rows[1].cost.flops, 100);
  EXPECT_EQ(plan->report().total.bytes_written, 1200);
  plan->reset_report();
  EXPECT_TRUE(plan->report().rows.empty());
  EXPECT_EQ(plan->report().total.flops, 0);
}

TEST(PlanBackend, counts_workspace_only_while_an_operation_runs) {
  const auto plan = make_plan_backend([](const AnyOp&) { return size_t{4096}; });
  Context ctx(*plan);
  const Tensor a = ctx.empty({256}, DType::f32);
  const size_t before = plan->allocator().statistics().in_use_bytes;
  ctx.run(op::Fill{a, 1});
  const MemoryStatistics after = plan->allocator().statistics();
  EXPECT_EQ(after.in_use_bytes, before);
  EXPECT_EQ(after.peak_in_use_bytes, before + 4096);
  EXPECT_EQ(after.peak_by_kind[static_cast<size_t>(MemoryKind::workspace)], 4096u);
}

TEST(PlanBackend, computes_nothing) {
  const auto plan = make_plan_backend({});
  EXPECT_FALSE(plan->computes());
  Context ctx(*plan);
  const Tensor a = ctx.from_values<float>({2}, std::vector<float>{1, 2});
  EXPECT_EQ(a.bytes(), nullptr);
  std::vector<float> values{5, 5};
  plan->read(a, values.data());
  EXPECT_EQ(values, (std::vector<float>{0, 0}));
}

TEST(PlanBackend, tells_a_listener_every_operation) {
  const auto plan = make_plan_backend({});
  int calls = 0;
  plan->on_operation([&](const AnyOp& op, const Cost& cost) {
    EXPECT_EQ(op.name(), "fill");
    EXPECT_EQ(cost.bytes_written, 8);
    ++calls;
  });
  Context ctx(*plan);
  ctx.run(op::Fill{ctx.empty({2}, DType::f32), 1});
  EXPECT_EQ(calls, 1);
}

}  // namespace
}  // namespace owlet
