// The planner relies on cpu_workspace_bytes: it must be what a run takes from the allocator, to the byte.
#include <gtest/gtest.h>

#include <cstdlib>

#include "backends/cpu/cpu_backend.hpp"
#include "ops/context.hpp"

namespace owlet {
namespace {

class Workspace : public testing::Test {
 protected:
  Tensor zeros(const Shape& shape, DType dtype) {
    Tensor tensor = ctx_.empty(shape, dtype);
    if (dtype == DType::i32) {
      const std::vector<int32_t> values(static_cast<size_t>(shape.num_elements()));
      backend_->write(tensor, values.data());
    } else {
      ctx_.run(op::Fill{tensor, 0});
    }
    return tensor;
  }

  /// What the allocator counts for a buffer of this size: it rounds up.
  size_t counted_bytes(size_t size_bytes) {
    if (size_bytes == 0) return 0;
    const size_t before = backend_->allocator().statistics().in_use_bytes;
    const BufferHandle buffer = backend_->allocator().allocate(size_bytes, MemoryKind::workspace);
    return backend_->allocator().statistics().in_use_bytes - before;
  }

  /// Runs the op and compares.
  void expect_exact(const AnyOp& op) {
    CachingAllocator& allocator = backend_->allocator();
    const auto kind = static_cast<size_t>(MemoryKind::workspace);
    const size_t expected = counted_bytes(cpu_workspace_bytes(op));
    allocator.reset_peak();
    const size_t before = allocator.statistics().in_use_bytes;
    ctx_.run(op);
    const MemoryStatistics after = allocator.statistics();
    EXPECT_EQ(after.in_use_bytes, before) << op.name();
    EXPECT_EQ(after.in_use_by_kind[kind], 0u) << op.name();
    EXPECT_EQ(after.peak_in_use_bytes - before, expected) << op.name();
  }

  static CpuOptions options() {
    const char* forced = std::getenv("OWLET_TEST_ISA");
    return {.instruction_set = forced == nullptr ? "" : forced};
  }

  std::unique_ptr<Backend> backend_ = make_cpu_backend(options());
  Context ctx_{*backend_};
};

TEST_F(Workspace, OfLinearIsWhatRunsTake) {
  for (const DType type : {DType::f32, DType::bf16}) {
    const Tensor x = zeros({100, 70}, type), weight = zeros({50, 70}, type), y = zeros({100, 50}, type);
    const Tensor bias = zeros({50}, DType::f32), dweight = zeros({50, 70}, DType::f32);
    expect_exact(op::Linear{x, weight, bias, y});
    expect_exact(op::Linear{x, weight, {}, y});
    expect_exact(op::LinearInputGrad{y, weight, {x, true}});
    expect_exact(op::LinearWeightGrad{y, x, {dweight, true}, {bias, false}});
    expect_exact(op::LinearWeightGrad{y, x, {}, {bias, true}});
  }
}

TEST_F(Workspace, OfNormGradientsIsWhatRunsTake) {
  const Tensor x = zeros({100, 70}, DType::bf16), row = zeros({100}, DType::f32), column = zeros({70}, DType::f32);
  expect_exact(op::RmsNormGrad{x, x, column, row, {zeros({100, 70}, DType::bf16), false}, {column, false}});
  expect_exact(op::RmsNormGrad{x, x, column, row, {zeros({100, 70}, DType::bf16), false}, {}});
  expect_exact(op::LayerNormGrad{x, x, column, row, row, {}, {column, true}, {column, false}});
}

TEST_F(Workspace, OfCrossEntropyIsWhatRunsTake) {
  for (const DType type : {DType::f32, DType::bf16}) {
    const Tensor x = zeros({100, 70}, type), weight = zeros({300, 70}, type), dx = zeros({100, 70}, type);
    const Tensor losses = zeros({100}, DType::f32), dweight = zeros({300, 70}, DType::f32);
    const Tensor targets = zeros({100}, DType::i32);
    for (const int64_t chunk_rows : {256, 100, 32, 7}) {  // one chunk; exactly one; a short last one; many
      expect_exact(op::LinearCrossEntropy{x, weight, targets, losses, {dx, false}, {dweight, true}, 0.01f, chunk_rows});
      expect_exact(op::LinearCrossEntropy{x, weight, targets, losses, {}, {}, 1, chunk_rows});
    }
  }
}

}  // namespace
}  // namespace owlet
