// Forcing an instruction set works, and each one has an entry in ctest (tests/CMakeLists.txt) that forces it.
#include <gtest/gtest.h>
#include <hwy/targets.h>

#include "backends/cpu/cpu_backend.hpp"
#include "base/error.hpp"
#include "base/parallel_for.hpp"
#include "tests/support/op_trial.hpp"

namespace owlet::test {

namespace {

TEST(OpInstructionSet, EachHasATestEntry) {
  const std::string registered = std::string(",") + OWLET_INSTRUCTION_SETS + ",";
  for (const std::string& name : cpu_instruction_sets()) {
    EXPECT_NE(registered.find("," + name + ","), std::string::npos) << name << " is missing in " << registered;
  }
}

TEST(OpInstructionSet, ForcingHolds) {
  if (!has_forced_instruction_set()) GTEST_SKIP() << forced_instruction_set() << " is not on this machine";
  const std::vector<std::string> sets = cpu_instruction_sets();
  const std::string expected = forced_instruction_set().empty() ? sets.front() : forced_instruction_set();
  cpu_under_test();
  EXPECT_NO_THROW(make_cpu_backend({1, expected, 0}));
  for (const std::string& other : sets) {
    if (other == expected) continue;
    try {
      make_cpu_backend({1, other, 0});
      FAIL() << "asked for " << other << " beside " << expected;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::unsupported);
      EXPECT_NE(std::string(error.what()).find("'" + expected + "'"), std::string::npos) << error.what();
    }
  }
  set_num_threads(2);
#if HWY_ARCH_X86
  // The kernels' dispatch takes the best target that is left, the lowest bit.
  const int64_t targets = hwy::SupportedTargets(), best = targets & -targets;
  const bool is_right = expected == "avx2"       ? best == HWY_AVX2
                        : expected == "sse4"     ? best == HWY_SSE4
                        : expected == "baseline" ? best > HWY_SSE4
                                                 : best <= HWY_AVX3;
  EXPECT_TRUE(is_right) << expected << " runs " << hwy::TargetName(best);
#endif
}

TEST(OpInstructionSet, UnknownNamesAreRefused) {
  try {
    make_cpu_backend({1, "mmx", 0});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::invalid_argument);
    EXPECT_NE(error.hint().find(cpu_instruction_sets().front()), std::string::npos);
  }
}

}  // namespace

}  // namespace owlet::test
