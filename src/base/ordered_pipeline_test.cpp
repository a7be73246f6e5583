#include "base/ordered_pipeline.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <string>

#include "base/error.hpp"

namespace owlet {
namespace {

struct Trial {
  int threads = 4, count = 200;
  int reading_fails_at = -1, processing_fails_at = -1, writing_fails_at = -1;
  std::vector<int> written = {};
  std::atomic<int> in_flight = 0, most_in_flight = 0;
  std::string error = {};

  void run() {
    int next = 0;
    OrderedPipeline<int, int> pipeline(
        threads,
        [&](int& work) {
          if (next == count) return false;
          if (next == reading_fails_at) fail(ErrorKind::io, "read {}", next);
          most_in_flight = std::max(most_in_flight.load(), ++in_flight);
          work = next++;
          return true;
        },
        [&](int&& work) {
          if (work == processing_fails_at) fail(ErrorKind::io, "processed {}", work);
          // Every seventh piece takes long, so that the others are done before it.
          if (work % 7 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
          return work * 10;
        },
        [&](int&& result) {
          if (result == writing_fails_at * 10) fail(ErrorKind::io, "wrote {}", result / 10);
          written.push_back(result);
          --in_flight;
        });
    try {
      pipeline.run();
    } catch (const Error& thrown) {
      error = thrown.what();
    }
  }
};

std::vector<int> tens_below(int count) {
  std::vector<int> tens;
  for (int i = 0; i < count; ++i) tens.push_back(i * 10);
  return tens;
}

TEST(OrderedPipeline, WritesInTheOrderOfReadingWithBoundedWork) {
  for (const int threads : {1, 2, 5}) {
    Trial trial{.threads = threads};
    trial.run();
    EXPECT_EQ(trial.error, "");
    EXPECT_EQ(trial.written, tens_below(200)) << threads;
    EXPECT_LE(trial.most_in_flight, 3 * threads + 1);
  }
  Trial nothing{.count = 0};
  nothing.run();
  EXPECT_TRUE(nothing.written.empty());
}

TEST(OrderedPipeline, TheFirstFailureInOrderIsThrownAfterAllBefore) {
  for (const int threads : {1, 3}) {
    Trial reading{.threads = threads, .reading_fails_at = 50};
    reading.run();
    EXPECT_EQ(reading.error, "read 50");
    EXPECT_EQ(reading.written, tens_below(50));
    Trial processing{.threads = threads, .reading_fails_at = 60, .processing_fails_at = 49};
    processing.run();
    EXPECT_EQ(processing.error, "processed 49");
    EXPECT_EQ(processing.written, tens_below(49));
    Trial writing{.threads = threads, .processing_fails_at = 70, .writing_fails_at = 14};
    writing.run();
    EXPECT_EQ(writing.error, "wrote 14");
    EXPECT_EQ(writing.written, tens_below(14));
  }
}

}  // namespace
}  // namespace owlet
