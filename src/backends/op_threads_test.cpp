// Own kernels give the same bits on one thread and on two. Products by oneDNN promise that for one number of threads.
#include <gtest/gtest.h>

#include <cstring>

#include "base/parallel_for.hpp"
#include "tests/support/op_case.hpp"
#include "tests/support/op_trial.hpp"

namespace owlet::test {

namespace {

class OpThreads : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (!has_forced_instruction_set()) GTEST_SKIP() << forced_instruction_set() << " is not on this machine";
    cpu_under_test();
  }
  void TearDown() override { set_num_threads(2); }
};

/// Ops whose sums oneDNN orders.
bool is_built_on_products(std::string_view name) {
  return name == op::Linear::kName || name == op::LinearInputGrad::kName || name == op::LinearWeightGrad::kName ||
         name == op::LinearCrossEntropy::kName;
}

TEST_P(OpThreads, GiveTheSameBits) {
  for (const OpCase& one : cases_of(GetParam())) {
    for (const TrialSetup& setup : {TrialSetup{DType::f32, 0, false, {}}, TrialSetup{DType::bf16, 2, true, {}}}) {
      if (setup.accumulate && !one.in_place.empty()) continue;
      const AnyOp rounded = round_op(one, setup.activation);
      set_num_threads(is_built_on_products(GetParam()) ? 2 : 1);
      OpTrial first(cpu_under_test(), one, rounded, setup);
      ASSERT_NO_THROW(first.run()) << one.name;
      set_num_threads(2);
      OpTrial second(cpu_under_test(), one, rounded, setup);
      second.run();
      for (const auto& [name, result] : first.results()) {
        const Tensor other = second.results().find(name)->second;
        const bool is_equal =
            result.size_bytes() == 0 || std::memcmp(result.bytes(), other.bytes(), result.size_bytes()) == 0;
        EXPECT_TRUE(is_equal) << one.name << ", " << setup.describe() << ": " << name << " differs";
      }
    }
    if (HasFailure()) break;
  }
}

INSTANTIATE_TEST_SUITE_P(Cpu, OpThreads, testing::ValuesIn(all_op_names()),
                         [](const auto& parameter) { return parameter.param; });

}  // namespace

}  // namespace owlet::test
