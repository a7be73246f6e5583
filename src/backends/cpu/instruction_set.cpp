// Detection of the instruction sets and the process-wide choice among them.
#include "backends/cpu/instruction_set.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <mutex>
#include <oneapi/dnnl/dnnl.hpp>
#include <optional>

#include "backends/cpu/simd_targets.hpp"
#include "base/error.hpp"
#include "hwy/highway.h"

namespace owlet::cpu {

namespace {

struct InstructionSet {
  std::string name;
  int64_t highway_target = 0;
  /// None: whatever oneDNN finds.
  std::optional<dnnl::cpu_isa> dnnl_isa;
  bool has_bf16_products = false;
};

#if HWY_ARCH_X86
/// Asks the processor: asking oneDNN what it can do would fix its choice for the rest of the process.
bool processor_has_bf16() { return __builtin_cpu_supports("avx512bf16"); }
#endif

/// All sets of this processor, best first, whatever has been chosen.
std::vector<InstructionSet> detect() {
  std::vector<InstructionSet> sets;
  for (const int64_t target : hwy::SupportedAndGeneratedTargets()) {
#if HWY_ARCH_X86
    switch (target) {
      case HWY_AVX3:
        if (processor_has_bf16()) sets.push_back({"avx512_bf16", target, std::nullopt, true});
        sets.push_back({"avx512", target, dnnl::cpu_isa::avx512_core, false});
        break;
      case HWY_AVX2:
        sets.push_back({"avx2", target, dnnl::cpu_isa::avx2, false});
        break;
      case HWY_SSE4:
        sets.push_back({"sse4", target, dnnl::cpu_isa::sse41, false});
        break;
      default:
        sets.push_back({"baseline", target, dnnl::cpu_isa::sse41, false});
    }
#else
    std::string name = hwy::TargetName(target);
    std::ranges::transform(name, name.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    sets.push_back({name, target, std::nullopt, false});
#endif
  }
  return sets;
}

struct Choice {
  std::mutex mutex;
  /// Detected before anything is forced: forcing changes what the libraries report.
  std::vector<InstructionSet> sets = detect();
  std::optional<InstructionSet> chosen;
};

Choice& choice() {
  static Choice the_choice;
  return the_choice;
}

void force(const InstructionSet& set) {
  hwy::DisableTargets(set.highway_target - 1);  // lower bits are better targets
  if (set.dnnl_isa) {
    const dnnl::status status = dnnl::set_max_cpu_isa(*set.dnnl_isa);
    check(status == dnnl::status::success, ErrorKind::unsupported,
          "cannot hold oneDNN to the instruction set '{}': it has made code already or was built without that choice",
          set.name);
  }
}

std::vector<std::string> names_of(const std::vector<InstructionSet>& sets) {
  std::vector<std::string> names;
  for (const InstructionSet& set : sets) names.push_back(set.name);
  return names;
}

}  // namespace

std::vector<std::string> instruction_sets() {
  Choice& state = choice();
  const std::lock_guard lock(state.mutex);
  return names_of(state.sets);
}

void choose_instruction_set(std::string_view name) {
  Choice& state = choice();
  const std::lock_guard lock(state.mutex);
  if (name.empty() && state.chosen) return;
  const std::string wanted(name.empty() ? std::string_view(state.sets.front().name) : name);
  const auto found = std::ranges::find(state.sets, wanted, &InstructionSet::name);
  if (found == state.sets.end()) {
    throw Error(ErrorKind::invalid_argument, fmt::format("unknown instruction set '{}'", wanted),
                fmt::format("this machine has: {}", fmt::join(names_of(state.sets), ", ")));
  }
  if (state.chosen) {
    check(state.chosen->name == wanted, ErrorKind::unsupported,
          "instruction set '{}' was asked, but this process already runs '{}'", wanted, state.chosen->name);
    return;
  }
  force(*found);
  state.chosen = *found;
}

bool has_bf16_products() {
  Choice& state = choice();
  const std::lock_guard lock(state.mutex);
  return state.chosen ? state.chosen->has_bf16_products : state.sets.front().has_bf16_products;
}

}  // namespace owlet::cpu
