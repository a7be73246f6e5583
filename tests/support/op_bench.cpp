// op_bench: the time of every operation at the sizes of a small model, beside what its cost says it must do.
//
//   op_bench [PART OF A CASE'S NAME]      OWLET_TEST_ISA forces an instruction set, OMP_NUM_THREADS sets the threads
#include <algorithm>
#include <chrono>
#include <iostream>

#include "base/error.hpp"
#include "tests/support/op_case.hpp"
#include "tests/support/op_trial.hpp"

namespace owlet::test {

namespace {

/// Seconds of one run: the best of the runs that fit into a quarter of a second, after one to warm up.
double measure(Backend& backend, const AnyOp& op) {
  using Clock = std::chrono::steady_clock;
  backend.run(op);
  double best = 1e9;
  const Clock::time_point begin = Clock::now();
  do {
    const Clock::time_point start = Clock::now();
    backend.run(op);
    best = std::min(best, std::chrono::duration<double>(Clock::now() - start).count());
  } while (std::chrono::duration<double>(Clock::now() - begin).count() < 0.25);
  return best;
}

void print_times(std::string_view filter) {
  Backend& backend = cpu_under_test();
  std::cout << fmt::format("{:<44}{:>6}{:>12}{:>12}{:>10}\n", "case", "type", "us", "GFLOP/s", "GB/s");
  for (const OpCase& one : bench_cases()) {
    if (one.name.find(filter) == std::string::npos) continue;
    for (DType activation : {DType::f32, DType::bf16}) {
      const OpTrial trial(backend, one, round_op(one, activation), {activation, 0, false, {}});
      const double seconds = measure(backend, trial.op());
      const Cost cost = trial.op().cost();
      std::cout << fmt::format("{:<44}{:>6}{:>12.1f}{:>12.2f}{:>10.2f}\n", one.name, to_string(activation),
                               seconds * 1e6, cost.flops / seconds * 1e-9,
                               (cost.bytes_read + cost.bytes_written) / seconds * 1e-9);
    }
  }
}

}  // namespace

}  // namespace owlet::test

int main(int argc, char** argv) {
  try {
    owlet::test::print_times(argc > 1 ? argv[1] : "");
    return 0;
  } catch (const owlet::Error& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
}
