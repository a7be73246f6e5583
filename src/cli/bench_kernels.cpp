#include "cli/bench_kernels.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "backends/profiled/profiled_backend.hpp"
#include "base/error.hpp"
#include "base/parallel_for.hpp"
#include "base/text_table.hpp"
#include "cli/bench_kernel_cases.hpp"
#include "cli/bench_train.hpp"
#include "cli/program_backend.hpp"
#include "machine/measure_memory.hpp"
#include "machine/measure_peaks.hpp"

namespace owlet {

namespace {

struct KernelRow {
  std::string_view name;
  std::string shape;
  DType dtype = DType::f32;
  double seconds = 0;  // median of one run
  double gflops = 0, gbytes_per_second = 0, percent_of_limit = 0;
};

/// Median seconds of a run, after one to warm up: as many runs as fit into `budget_seconds`, at least three unless
/// they are very slow.
double median_seconds(Backend& backend, const AnyOp& op, double budget_seconds) {
  constexpr size_t kFewestRuns = 3;
  constexpr double kVerySlowSeconds = 1;
  using Clock = std::chrono::steady_clock;
  backend.run(op);
  std::vector<double> times;
  double spent = 0;
  do {
    const Clock::time_point start = Clock::now();
    backend.run(op);
    times.push_back(std::chrono::duration<double>(Clock::now() - start).count());
    spent += times.back();
  } while (spent < budget_seconds || (times.size() < kFewestRuns && spent < kVerySlowSeconds));
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::ranges::nth_element(times, middle);
  return *middle;
}

KernelRow time_kernel(Backend& backend, const KernelCase& one, double budget_seconds, const RooflinePeaks& peaks) {
  const AnyOp op = one.make(backend);
  const Cost cost = op.cost();
  KernelRow row{.name = one.name, .shape = shape_of(op), .dtype = one.dtype};
  row.seconds = median_seconds(backend, op, budget_seconds);
  row.gflops = cost.flops / row.seconds * 1e-9;
  row.gbytes_per_second = (cost.bytes_read + cost.bytes_written) / row.seconds * 1e-9;
  row.percent_of_limit = 100 * roofline_seconds(cost, one.dtype, peaks) / row.seconds;
  return row;
}

bool is_wanted(const KernelCase& one, const std::string& filter) {
  return fmt::format("{} {}", one.name, to_string(one.dtype)).find(filter) != std::string::npos;
}

OrderedJson rows_json(const std::vector<KernelRow>& rows) {
  OrderedJson json = OrderedJson::array();
  for (const KernelRow& row : rows) {
    json.push_back({{"name", row.name},
                    {"shape", row.shape},
                    {"dtype", to_string(row.dtype)},
                    {"seconds", row.seconds},
                    {"gflops", row.gflops},
                    {"gbytes_per_second", row.gbytes_per_second},
                    {"percent_of_limit", row.percent_of_limit}});
  }
  return json;
}

std::string rows_text(const std::vector<KernelRow>& rows) {
  TextTable table;
  for (const char* header : {"operation", "type", "shape"}) table.add_column(header);
  for (const char* header : {"us", "GFLOP/s", "GB/s", "% of limit"}) table.add_column(header, TextTable::Align::right);
  for (const KernelRow& row : rows) {
    table.add_row({std::string(row.name), std::string(to_string(row.dtype)), row.shape,
                   fmt::format("{:.1f}", row.seconds * 1e6), fmt::format("{:.1f}", row.gflops),
                   fmt::format("{:.1f}", row.gbytes_per_second), fmt::format("{:.1f}", row.percent_of_limit)});
  }
  return table.to_string();
}

}  // namespace

int bench_kernels(const BenchKernelsArguments& arguments, Program& program) {
  apply_threads(program);
  std::vector<KernelCase> cases = kernel_cases(arguments.quick);
  std::erase_if(cases, [&](const KernelCase& one) { return !is_wanted(one, arguments.filter); });
  if (cases.empty()) {
    throw Error(ErrorKind::not_found, fmt::format("no operation is called like '{}'", arguments.filter),
                "owlet bench kernels --quick lists all of them");
  }
  program.console.progress("measuring the machine …");
  const double peak_seconds = arguments.quick ? 0.02 : 0.4;
  const uint64_t buffer_bytes = uint64_t{arguments.quick ? 64u : 256u} << 20;
  const RooflinePeaks peaks = measure_roofline_peaks(peak_seconds, buffer_bytes);
  MemoryProbe memory(buffer_bytes);
  const double int8_gops = measure_int8_gops(peak_seconds);
  constexpr double kSecondsPerMemorySpeed = 0.02;
  const auto backend = make_backend(program);
  std::vector<KernelRow> rows;
  for (const KernelCase& one : cases) {
    program.console.progress(fmt::format("{}/{}: {}", rows.size() + 1, cases.size(), one.name));
    // The memory of a virtual machine may change its speed within seconds: what is bound by it has a limit of its own.
    RooflinePeaks limit = peaks;
    if (one.sizes.memory_bound_only) set_memory_speeds(limit, memory.measure(kSecondsPerMemorySpeed));
    rows.push_back(time_kernel(*backend, one, arguments.quick ? 0.002 : 0.1, limit));
  }
  program.console.clear_progress();
  std::string text = rows_text(rows);
  if (!text.empty()) text.pop_back();
  program.console.result(text);
  program.console.result(
      fmt::format("limit: f32 {:.0f} GFLOP/s, bf16 {:.0f} GFLOP/s; memory: reading {:.1f} GB/s, writing {:.1f}, both "
                  "at once {:.1f}; "
                  "measured just now on {} threads (memory again before each row of 64 Mi elements)",
                  peaks.f32_gflops, peaks.bf16_gflops, peaks.gigabytes_per_second, peaks.write_gigabytes_per_second,
                  peaks.copy_gigabytes_per_second, num_threads()));
  program.console.json_result({{"kernels", rows_json(rows)},
                               {"machine",
                                {{"threads", num_threads()},
                                 {"f32_gflops", peaks.f32_gflops},
                                 {"bf16_gflops", peaks.bf16_gflops},
                                 {"int8_gops", int8_gops},
                                 {"read_gb_per_second", peaks.gigabytes_per_second},
                                 {"write_gb_per_second", peaks.write_gigabytes_per_second},
                                 {"copy_gb_per_second", peaks.copy_gigabytes_per_second}}}});
  return 0;
}

}  // namespace owlet
