// `owlet bench kernels`: every operation of the CPU alone, timed and held against the machine's limit.
#pragma once

#include <string>

#include "cli/command.hpp"

namespace owlet {

struct BenchKernelsArguments {
  /// Part of "name dtype"; empty: every row.
  std::string filter;
  /// Tiny shapes and short measurements.
  bool quick = false;
};

/// Measures the peaks, then the median time of each operation. Throws Error not_found where the filter leaves nothing.
int bench_kernels(const BenchKernelsArguments& arguments, Program& program);

}  // namespace owlet
