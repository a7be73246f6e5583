#include "base/human.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <iterator>

namespace owlet {

namespace {

/// One decimal below 100, none above and for whole numbers; "15.2", "24", "128".
std::string format_short(double value) {
  const double tenths = std::round(value * 10) / 10;
  if (tenths >= 100 || tenths == std::floor(tenths)) return fmt::format("{:.0f}", tenths);
  return fmt::format("{:.1f}", tenths);
}

/// Scales `value` by thousands until it would print below 1000 and appends the unit.
std::string format_scaled(double value, const char* const* units, int num_units) {
  int unit = 0;
  while (unit + 1 < num_units && std::abs(value) >= (999.5)) {
    value /= 1000;
    ++unit;
  }
  const std::string sign = value < 0 ? "-" : "";
  const std::string number = sign + format_short(std::abs(value));
  return units[unit][0] == '\0' ? number : number + " " + units[unit];
}

}  // namespace

std::string format_bytes(uint64_t bytes) {
  static constexpr const char* kUnits[] = {"B", "kB", "MB", "GB", "TB", "PB", "EB"};
  return format_scaled(static_cast<double>(bytes), kUnits, std::size(kUnits));
}

std::string format_count(double count) {
  static constexpr const char* kUnits[] = {"", "k", "M", "B", "T"};
  if (!std::isfinite(count)) return "unknown";
  return format_scaled(count, kUnits, std::size(kUnits));
}

std::string format_duration(double seconds) {
  constexpr double kLongestSeconds = 1e15;
  if (!(seconds >= 0) || seconds > kLongestSeconds) return "unknown";
  if (seconds < 9.95) return fmt::format("{:.{}f} s", seconds, seconds < 1 ? 2 : 1);
  const auto whole = static_cast<int64_t>(std::llround(seconds));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {:02d} s", whole / 60, whole % 60);
  const int64_t minutes = (whole + 30) / 60;
  if (minutes < 24 * 60) return fmt::format("{} h {:02d} min", minutes / 60, minutes % 60);
  const int64_t hours = (minutes + 30) / 60;
  return fmt::format("{} d {:02d} h", hours / 24, hours % 24);
}

}  // namespace owlet
