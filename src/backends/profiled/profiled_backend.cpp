#include "backends/profiled/profiled_backend.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <type_traits>
#include <utility>

#include "base/text_table.hpp"

namespace owlet {
namespace {

double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// The tensor that says best how large an operation is and in what type it computes.
template <typename Op>
Tensor main_tensor(const Op& op) {
  if constexpr (requires { op.q; }) {
    return op.q;
  } else if constexpr (requires { op.x; }) {
    return op.x;
  } else if constexpr (requires { op.dy; }) {
    return op.dy;
  } else if constexpr (requires { op.gate; }) {
    return op.gate;
  } else if constexpr (requires { op.a; }) {
    return op.a;
  } else if constexpr (requires { op.gradient; }) {
    return op.gradient;
  } else if constexpr (requires { op.rows; }) {
    return op.rows;
  } else {
    return op.y;
  }
}

/// The second tensor whose shape decides the work, undefined where the first says all.
template <typename Op>
Tensor second_tensor(const Op& op) {
  if constexpr (std::is_same_v<Op, op::LinearWeightGrad>) {
    return op.dweight.tensor;
  } else if constexpr (requires { op.k; }) {
    return op.k;
  } else if constexpr (requires { op.gradient; }) {
    return {};
  } else if constexpr (requires { op.weight; }) {
    return op.weight;
  } else {
    return {};
  }
}

Tensor main_tensor(const AnyOp& op) {
  return std::visit([](const auto& alternative) { return main_tensor(alternative); }, op.variant);
}

std::string name_with_shapes(const AnyOp& op) {
  const Tensor second = std::visit([](const auto& alternative) { return second_tensor(alternative); }, op.variant);
  std::string name = fmt::format("{} {}", op.name(), describe(main_tensor(op)));
  if (second.defined()) name += " x " + to_string(second.shape());
  return name;
}

}  // namespace

double roofline_seconds(const Cost& cost, DType dtype, const RooflinePeaks& peaks) {
  const double gflops = dtype == DType::bf16 ? peaks.bf16_gflops : peaks.f32_gflops;
  const auto seconds_at = [](double amount, double giga_per_second, double otherwise = 0) {
    const double speed = giga_per_second > 0 ? giga_per_second : otherwise;
    return speed > 0 ? amount / (speed * 1e9) : 0;
  };
  const double reading = peaks.gigabytes_per_second;
  return std::max({seconds_at(cost.flops, gflops), seconds_at(cost.bytes_read, reading),
                   seconds_at(cost.bytes_written, peaks.write_gigabytes_per_second, reading),
                   seconds_at(cost.bytes_read + cost.bytes_written, peaks.copy_gigabytes_per_second, reading)});
}

ProfiledBackend::ProfiledBackend(Backend& inner, Options options) : inner_(inner), options_(std::move(options)) {
  if (!options_.clock) options_.clock = steady_seconds;
}

void ProfiledBackend::run(const AnyOp& op) {
  const double start = options_.clock();
  inner_.run(op);
  const double seconds = options_.clock() - start;
  const DType dtype = main_tensor(op).dtype();
  const std::string key = options_.by_shape ? name_with_shapes(op) : fmt::format("{} {}", op.name(), to_string(dtype));
  Entry& entry = entries_[key];
  entry.dtype = dtype;
  entry.calls += 1;
  entry.seconds += seconds;
  entry.cost += op.cost();
}

void ProfiledBackend::reset() { entries_.clear(); }

std::vector<ProfileRow> ProfiledBackend::report(const RooflinePeaks& peaks) const {
  double total_seconds = 0;
  for (const auto& [name, entry] : entries_) total_seconds += entry.seconds;
  std::vector<ProfileRow> rows;
  for (const auto& [name, entry] : entries_) {
    ProfileRow row;
    row.name = name;
    row.calls = entry.calls;
    row.seconds = entry.seconds;
    row.cost = entry.cost;
    if (entry.seconds > 0) {
      row.share = entry.seconds / total_seconds;
      row.gflops = entry.cost.flops / entry.seconds * 1e-9;
      row.gigabytes_per_second = (entry.cost.bytes_read + entry.cost.bytes_written) / entry.seconds * 1e-9;
      row.roofline_share = roofline_seconds(entry.cost, entry.dtype, peaks) / entry.seconds;
    }
    rows.push_back(std::move(row));
  }
  std::stable_sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.seconds > b.seconds; });
  return rows;
}

std::string format_profile(const std::vector<ProfileRow>& rows) {
  using Align = TextTable::Align;
  const bool has_roofline =
      std::any_of(rows.begin(), rows.end(), [](const auto& row) { return row.roofline_share > 0; });
  TextTable table;
  table.add_column("operation");
  for (const char* header : {"calls", "ms", "share", "GFLOP/s", "GB/s"}) table.add_column(header, Align::right);
  if (has_roofline) table.add_column("roofline", Align::right);

  ProfileRow sum;
  sum.name = "total";
  double roofline = 0;
  for (const ProfileRow& row : rows) {
    sum.calls += row.calls;
    sum.seconds += row.seconds;
    sum.cost += row.cost;
    roofline += row.roofline_share * row.seconds;
  }
  if (sum.seconds > 0) {
    sum.share = 1;
    sum.gflops = sum.cost.flops / sum.seconds * 1e-9;
    sum.gigabytes_per_second = (sum.cost.bytes_read + sum.cost.bytes_written) / sum.seconds * 1e-9;
    sum.roofline_share = roofline / sum.seconds;
  }
  const auto add_row = [&](const ProfileRow& row) {
    std::vector<std::string> cells{row.name,
                                   fmt::format("{}", row.calls),
                                   fmt::format("{:.3f}", row.seconds * 1e3),
                                   fmt::format("{:.1f}%", row.share * 100),
                                   fmt::format("{:.1f}", row.gflops),
                                   fmt::format("{:.1f}", row.gigabytes_per_second)};
    if (has_roofline) cells.push_back(fmt::format("{:.0f}%", row.roofline_share * 100));
    table.add_row(std::move(cells));
  };
  for (const ProfileRow& row : rows) add_row(row);
  add_row(sum);
  return table.to_string();
}

}  // namespace owlet
