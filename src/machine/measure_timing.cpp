#include "machine/measure_timing.hpp"

#include <algorithm>
#include <chrono>

namespace owlet {

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
