#include "machine/measure_timing.hpp"

#include <algorithm>
#include <chrono>

namespace owlet {

double median(std::vector<double> values) {
  std::ranges::sort(values);
  const size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

double seconds_of(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double shortest_run_seconds(double seconds, const std::function<void()>& work) {
  double spent = seconds_of(work), shortest = seconds_of(work);
  spent += shortest;
  while (spent < seconds) {
    const double run = seconds_of(work);
    shortest = std::min(shortest, run);
    spent += run;
  }
  return shortest;
}

}  // namespace owlet
