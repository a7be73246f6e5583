// Which backend runs which operation in which type: each op has cases, and the CPU backend takes them all in f32 and
// bf16. OWLET_PRINT_SUPPORT=1 prints the table.
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>

#include "backends/reference/reference_backend.hpp"
#include "tests/support/op_case.hpp"
#include "tests/support/op_trial.hpp"

namespace owlet::test {

namespace {

/// Ops and types that the CPU backend does not take, with the reason. None.
struct Exception {
  std::string_view op;
  DType dtype;
};
constexpr std::array<Exception, 0> kExceptions{};

bool is_exception(std::string_view op, DType dtype) {
  return std::any_of(kExceptions.begin(), kExceptions.end(),
                     [&](const Exception& one) { return one.op == op && one.dtype == dtype; });
}

TEST(OpSupport, EveryOpHasCases) {
  for (const std::string& name : all_op_names()) EXPECT_FALSE(cases_of(name).empty()) << name << " has no OpCase";
}

TEST(OpSupport, CaseNamesAreUnique) {
  for (const std::string& op : all_op_names()) {
    std::map<std::string, int> seen;
    for (const OpCase& one : cases_of(op)) EXPECT_EQ(++seen[one.name], 1) << one.name << " stands twice";
  }
}

TEST(OpSupport, CpuRunsEveryOpInBothTypes) {
  if (!has_forced_instruction_set()) GTEST_SKIP() << forced_instruction_set() << " is not on this machine";
  const std::unique_ptr<Backend> reference = make_reference_backend();
  const bool prints = std::getenv("OWLET_PRINT_SUPPORT") != nullptr;
  if (prints) std::cout << fmt::format("{:<22}{:<12}{:<12}{}\n", "op", "cpu f32", "cpu bf16", "reference f64");
  for (const std::string& name : all_op_names()) {
    std::string row = fmt::format("{:<22}", name);
    for (DType dtype : {DType::f32, DType::bf16}) {
      bool is_supported = true;
      for (const OpCase& one : cases_of(name)) {
        const TrialSetup setup{dtype, 0, false, {}};
        is_supported &= cpu_under_test().supports(OpTrial(cpu_under_test(), one, make_op(one), setup).op());
      }
      EXPECT_TRUE(is_supported || is_exception(name, dtype)) << name << " in " << to_string(dtype);
      row += fmt::format("{:<12}", is_supported ? "yes" : "no");
    }
    for (const OpCase& one : cases_of(name)) EXPECT_TRUE(reference->supports(make_op(one))) << one.name;
    if (prints) std::cout << row << "yes\n";
  }
}

}  // namespace

}  // namespace owlet::test
