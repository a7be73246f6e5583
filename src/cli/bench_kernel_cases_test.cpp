#include "cli/bench_kernel_cases.hpp"

#include <gtest/gtest.h>

#include <set>
#include <utility>

#include "backends/cpu/cpu_backend.hpp"
#include "backends/plan/plan_backend.hpp"

namespace owlet {
namespace {

template <size_t... Index>
std::vector<std::string_view> names_of_all_ops(std::index_sequence<Index...>) {
  return {std::variant_alternative_t<Index, AnyOpVariant>::kName...};
}

TEST(KernelCases, EveryOperationIsTimedAtEverySize) {
  for (const bool quick : {true, false}) {
    std::set<std::string_view> timed;
    for (const KernelCase& one : kernel_cases(quick)) timed.insert(one.name);
    for (std::string_view name : names_of_all_ops(std::make_index_sequence<std::variant_size_v<AnyOpVariant>>())) {
      EXPECT_TRUE(timed.contains(name)) << name << " is missing in kMakers";
    }
  }
}

TEST(KernelCases, MakeTheOperationTheyName) {
  for (const KernelCase& one : kernel_cases(true)) {
    const auto backend = make_plan_backend(cpu_workspace_bytes);
    EXPECT_EQ(one.make(*backend).name(), one.name);
  }
}

}  // namespace
}  // namespace owlet
