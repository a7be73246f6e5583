#include "base/parallel_for.hpp"

#include <omp.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <mutex>
#include <set>
#include <string>

#include "base/error.hpp"

namespace owlet {

namespace {

std::vector<int> allowed_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cpus;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
  }
  return cpus;
}

int default_num_threads() {
  if (std::getenv("OMP_NUM_THREADS") != nullptr) return std::max(1, omp_get_max_threads());
  const std::vector<int> cpus = allowed_cpus();
  if (cpus.empty()) return std::max(1, omp_get_num_procs());  // more than CPU_SETSIZE processors
  return count_physical_cores(cpus, "/sys/devices/system/cpu");
}

std::atomic<int>& thread_setting() {
  static std::atomic<int> setting{default_num_threads()};
  return setting;
}

/// Keeps the exception of the lowest range, so that what is rethrown does not depend on the threads' timing.
class FirstError {
 public:
  void keep(int64_t range, std::exception_ptr error) {
    const std::lock_guard lock(mutex_);
    if (!error_ || range < range_) {
      error_ = std::move(error);
      range_ = range;
    }
  }
  void rethrow() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  std::mutex mutex_;
  std::exception_ptr error_;
  int64_t range_ = 0;
};

}  // namespace

int count_physical_cores(std::span<const int> cpus, const std::filesystem::path& sysfs_cpu_folder) {
  std::set<std::string> cores;  // one entry per set of siblings, as the kernel writes it
  for (const int cpu : cpus) {
    const auto topology = sysfs_cpu_folder / ("cpu" + std::to_string(cpu)) / "topology";
    std::string siblings;
    for (const char* name : {"core_cpus_list", "thread_siblings_list"}) {
      std::ifstream file(topology / name);
      if (std::getline(file, siblings) && !siblings.empty()) break;
    }
    cores.insert(siblings.empty() ? "cpu" + std::to_string(cpu) : siblings);
  }
  return std::max(1, static_cast<int>(cores.size()));
}

int num_threads() {
  // OpenMP keeps the number of threads per calling thread, and oneDNN asks OpenMP: carry our setting over to each
  // thread that asks here.
  thread_local int applied = 0;
  const int wanted = thread_setting().load(std::memory_order_relaxed);
  if (applied != wanted) {
    omp_set_num_threads(wanted);
    applied = wanted;
  }
  return wanted;
}

void set_num_threads(int count) {
  check(count >= 1, ErrorKind::invalid_argument, "{} threads asked, at least 1 is needed", count);
  thread_setting().store(count, std::memory_order_relaxed);
  num_threads();
}

namespace {

/// Hands out `ranges_per_turn(number of ranges, threads)` ranges at a time.
void run_ranges(int64_t count, int64_t grain, int (*ranges_per_turn)(int64_t, int),
                const std::function<void(int64_t begin, int64_t end)>& body) {
  check(grain >= 1, ErrorKind::invalid_argument, "parallel_for over {} items has grain {}, at least 1 is needed", count,
        grain);
  if (count <= 0) return;
  const int64_t num_ranges = count / grain + (count % grain != 0 ? 1 : 0);
  FirstError first_error;
  const auto run_range = [&](int64_t range) {
    const int64_t begin = range * grain;
    try {
      body(begin, begin + std::min(grain, count - begin));
    } catch (...) {
      first_error.keep(range, std::current_exception());
    }
  };
  const int threads = static_cast<int>(std::min<int64_t>(num_ranges, num_threads()));
  if (threads == 1 || omp_in_parallel()) {
    for (int64_t range = 0; range < num_ranges; ++range) run_range(range);
  } else {
    const int turn = ranges_per_turn(num_ranges, threads);
#pragma omp parallel for schedule(dynamic, turn) num_threads(threads)
    for (int64_t range = 0; range < num_ranges; ++range) run_range(range);
  }
  first_error.rethrow();
}

}  // namespace

void parallel_for(int64_t count, int64_t grain, const std::function<void(int64_t begin, int64_t end)>& body) {
  run_ranges(
      count, grain, [](int64_t, int) { return 1; }, body);
}

void parallel_sweep(int64_t count, int64_t grain, const std::function<void(int64_t begin, int64_t end)>& body) {
  run_ranges(
      count, grain,
      [](int64_t num_ranges, int threads) {
        // Long turns for prefetching, several per thread so that one that is held up does not hold up the rest.
        constexpr int64_t kTurnsPerThread = 8, kLongestTurn = 256;
        return static_cast<int>(std::clamp<int64_t>(num_ranges / (kTurnsPerThread * threads), 1, kLongestTurn));
      },
      body);
}

}  // namespace owlet
