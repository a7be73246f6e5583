#include "base/parallel_for.hpp"

#include <gtest/gtest.h>
#include <omp.h>

#include <atomic>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/atomic_file.hpp"
#include "base/error.hpp"
#include "base/temporary_folder.hpp"

namespace owlet {
namespace {

/// Runs the test with a number of threads and puts the old one back.
class ThreadSetting {
 public:
  explicit ThreadSetting(int count) : previous_(num_threads()) { set_num_threads(count); }
  ~ThreadSetting() { set_num_threads(previous_); }

 private:
  int previous_;
};

TEST(ParallelFor, CoversEveryIndexOnceInFixedRanges) {
  for (const int threads : {1, 2, 3, 8}) {
    const ThreadSetting setting(threads);
    for (const auto& [count, grain] : {std::pair{0, 3}, {1, 3}, {3, 3}, {10, 3}, {1000, 7}, {5, 100}}) {
      std::vector<int> visits(static_cast<size_t>(count));
      std::set<std::pair<int64_t, int64_t>> ranges, expected;
      std::mutex mutex;
      parallel_for(count, grain, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) ++visits[static_cast<size_t>(i)];
        const std::lock_guard lock(mutex);
        ranges.emplace(begin, end);
      });
      for (int64_t begin = 0; begin < count; begin += grain)
        expected.emplace(begin, std::min<int64_t>(count, begin + grain));
      EXPECT_EQ(visits, std::vector<int>(visits.size(), 1));
      EXPECT_EQ(ranges, expected);
    }
  }
}

TEST(ParallelSweep, CoversEveryIndexOnceInTheSameRanges) {
  for (const int threads : {1, 2, 3, 8}) {
    const ThreadSetting setting(threads);
    for (const auto& [count, grain] : {std::pair{0, 3}, {3, 3}, {10, 3}, {1000, 7}, {100000, 3}}) {
      std::vector<int> visits(static_cast<size_t>(count));
      std::atomic<int> num_ranges{0};
      parallel_sweep(count, grain, [&, grain = grain, count = count](int64_t begin, int64_t end) {
        EXPECT_EQ(begin % grain, 0);
        EXPECT_EQ(end, std::min<int64_t>(begin + grain, count));
        for (int64_t i = begin; i < end; ++i) ++visits[static_cast<size_t>(i)];
        ++num_ranges;
      });
      EXPECT_EQ(visits, std::vector<int>(visits.size(), 1));
      EXPECT_EQ(num_ranges, (count + grain - 1) / grain);
    }
  }
}

TEST(ParallelFor, NegativeCountIsNothingAndGrainMustBePositive) {
  parallel_for(-5, 1, [](int64_t, int64_t) { FAIL(); });
  EXPECT_THROW(parallel_for(5, 0, [](int64_t, int64_t) {}), Error);
}

TEST(ParallelFor, LargestCountDoesNotOverflow) {
  const int64_t largest = INT64_MAX;
  std::atomic<int64_t> covered{0};
  parallel_for(largest, largest / 2 + 1, [&](int64_t begin, int64_t end) { covered += end - begin; });
  EXPECT_EQ(covered.load(), largest);
}

TEST(ParallelFor, RethrowsTheLowestRangesExceptionAfterAllHaveEnded) {
  for (const int threads : {1, 2, 4}) {
    const ThreadSetting setting(threads);
    std::atomic<int> num_ended{0};
    std::atomic<bool> has_higher_thrown{threads == 1};
    try {
      parallel_for(100, 1, [&](int64_t begin, int64_t) {
        ++num_ended;
        if (begin == 90) has_higher_thrown = true;
        while (begin == 40 && !has_higher_thrown) std::this_thread::yield();
        check(begin != 90 && begin != 40, ErrorKind::internal, "range {}", begin);
      });
      FAIL() << "no exception";
    } catch (const Error& error) {
      EXPECT_STREQ(error.what(), "range 40");
    }
    EXPECT_EQ(num_ended.load(), 100);
  }
}

TEST(ParallelFor, NestedCallsStayOnTheirThread) {
  const ThreadSetting setting(4);
  const int previous_levels = omp_get_max_active_levels();
  omp_set_max_active_levels(2);  // OpenMP itself would nest
  std::atomic<int> total{0}, num_moved{0};
  parallel_for(8, 1, [&](int64_t, int64_t) {
    const auto outer = std::this_thread::get_id();
    parallel_for(10, 1, [&](int64_t, int64_t) {
      ++total;
      if (std::this_thread::get_id() != outer) ++num_moved;
    });
  });
  omp_set_max_active_levels(previous_levels);
  EXPECT_EQ(total.load(), 80);
  EXPECT_EQ(num_moved.load(), 0);
}

TEST(ParallelFor, UsesSeveralThreads) {
  const ThreadSetting setting(2);
  std::atomic<int> num_arrived{0};
  // Each range waits for the other: one thread alone would never see both.
  parallel_for(2, 1, [&](int64_t, int64_t) {
    ++num_arrived;
    while (num_arrived.load() < 2) std::this_thread::yield();
  });
  EXPECT_EQ(num_arrived.load(), 2);
}

TEST(NumThreads, SettingReachesOpenMpOnEveryThreadThatAsks) {
  const ThreadSetting setting(3);
  EXPECT_EQ(omp_get_max_threads(), 3);
  int seen = 0;
  std::thread([&] {
    num_threads();
    seen = omp_get_max_threads();
  }).join();
  EXPECT_EQ(seen, 3);
  EXPECT_THROW(set_num_threads(0), Error);
  EXPECT_EQ(num_threads(), 3);
}

TEST(CountPhysicalCores, CountsSiblingSetsOnce) {
  const TemporaryFolder folder;
  const auto add_cpu = [&](int cpu, const std::string& file, const std::string& siblings) {
    const auto topology = folder / ("cpu" + std::to_string(cpu)) / "topology";
    std::filesystem::create_directories(topology);
    write_file_atomically(topology / file, siblings + "\n");
  };
  add_cpu(0, "core_cpus_list", "0,4");
  add_cpu(1, "core_cpus_list", "1,5");
  add_cpu(4, "core_cpus_list", "0,4");
  add_cpu(5, "thread_siblings_list", "1,5");
  EXPECT_EQ(count_physical_cores(std::vector{0, 1, 4, 5}, folder.path()), 2);
  EXPECT_EQ(count_physical_cores(std::vector{0, 4}, folder.path()), 1);
  EXPECT_EQ(count_physical_cores(std::vector{0, 8, 9}, folder.path()), 3);
  EXPECT_EQ(count_physical_cores(std::vector<int>{}, folder.path()), 1);
}

}  // namespace
}  // namespace owlet
