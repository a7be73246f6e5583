// Results that go past the caches have the same bits, and nothing beside them is touched.
#include <gtest/gtest.h>

#include <cstring>

#include "backends/cpu/streaming.hpp"
#include "tests/support/op_case.hpp"
#include "tests/support/op_trial.hpp"

namespace owlet::test {

namespace {

class OpStreaming : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (!has_forced_instruction_set()) GTEST_SKIP() << forced_instruction_set() << " is not on this machine";
  }
  void TearDown() override { cpu::set_streamed_bytes(0); }
};

TEST_P(OpStreaming, GivesTheSameBits) {
  for (const OpCase& one : cases_of(GetParam())) {
    for (const TrialSetup& setup : {TrialSetup{DType::f32, 0, false, {}}, TrialSetup{DType::bf16, 0, false, {}},
                                    TrialSetup{DType::f32, 1, false, {}}, TrialSetup{DType::bf16, 2, false, {}}}) {
      const AnyOp rounded = round_op(one, setup.activation);
      cpu::set_streamed_bytes(0);
      OpTrial plain(cpu_under_test(), one, rounded, setup);
      ASSERT_NO_THROW(plain.run()) << one.name;
      cpu::set_streamed_bytes(1);
      OpTrial streamed(cpu_under_test(), one, rounded, setup);
      streamed.run();
      EXPECT_EQ(streamed.stray_write(), "") << one.name << ", " << setup.describe();
      for (const auto& [name, result] : plain.results()) {
        const Tensor other = streamed.results().find(name)->second;
        const bool is_equal =
            result.size_bytes() == 0 || std::memcmp(result.bytes(), other.bytes(), result.size_bytes()) == 0;
        EXPECT_TRUE(is_equal) << one.name << ", " << setup.describe() << ": " << name << " differs";
      }
    }
    if (HasFailure()) break;
  }
}

INSTANTIATE_TEST_SUITE_P(Cpu, OpStreaming, testing::ValuesIn(all_op_names()),
                         [](const auto& parameter) { return parameter.param; });

TEST(IsStreamed, LargeAlignedResultsThatAreOverwritten) {
  const Tensor large = make_host_tensor({1024, 64}, DType::f32);
  const auto offset = (64 - reinterpret_cast<uintptr_t>(large.bytes()) % 64) % 64 / sizeof(float);
  const auto view = [&](int64_t first, int64_t rows) {
    return Tensor(large.buffer(), large.offset_bytes() + (offset + static_cast<size_t>(first)) * sizeof(float),
                  {rows, 64}, DType::f32);
  };
  cpu::set_streamed_bytes(512 * 64 * sizeof(float));
  EXPECT_TRUE(cpu::is_streamed(view(0, 512)));
  EXPECT_FALSE(cpu::is_streamed(view(0, 511)));
  EXPECT_FALSE(cpu::is_streamed(view(1, 512)));
  EXPECT_FALSE(cpu::is_streamed(Tensor()));
  EXPECT_TRUE(cpu::is_streamed(GradientSlot{view(0, 512), false}));
  EXPECT_FALSE(cpu::is_streamed(GradientSlot{view(0, 512), true}));
  EXPECT_TRUE(cpu::is_streamed(view(0, 512), 128));
  EXPECT_FALSE(cpu::is_streamed(view(0, 512), 96));
  cpu::set_streamed_bytes(0);
  EXPECT_FALSE(cpu::is_streamed(view(0, 512)));
}

}  // namespace

}  // namespace owlet::test
