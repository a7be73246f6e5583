#include "text/monotone_queue.hpp"

#include <gtest/gtest.h>

#include <set>

#include "base/random.hpp"

namespace owlet {
namespace {

/// Against std::multiset: pushes above the last key for the most part, and below it now and then.
TEST(MonotoneQueue, GivesTheSmallestKey) {
  for (const uint64_t range : {uint64_t{3}, uint64_t{1} << 20, uint64_t{1} << 63}) {
    RandomStream random(1, range);
    MonotoneQueue queue;
    std::multiset<uint64_t> expected;
    uint64_t last = 0;
    for (int i = 0; i < 20000; ++i) {
      if (expected.empty() || random.next_below(100) < 55) {
        const bool is_below = random.next_below(20) == 0;
        const uint64_t key = is_below ? random.next_below(last + 1) : last + random.next_below(range);
        queue.push(key);
        expected.insert(key);
      } else {
        last = queue.pop();
        ASSERT_EQ(last, *expected.begin()) << i;
        expected.erase(expected.begin());
        if (last > uint64_t{1} << 62) last = 0;
      }
      ASSERT_EQ(queue.empty(), expected.empty());
    }
  }
}

TEST(MonotoneQueue, TakesTheLargestKeys) {
  MonotoneQueue queue;
  for (const uint64_t key : {~uint64_t{0}, uint64_t{0}, ~uint64_t{0}, uint64_t{1} << 63}) queue.push(key);
  EXPECT_EQ(queue.pop(), 0u);
  EXPECT_EQ(queue.pop(), uint64_t{1} << 63);
  EXPECT_EQ(queue.pop(), ~uint64_t{0});
  EXPECT_EQ(queue.pop(), ~uint64_t{0});
  EXPECT_TRUE(queue.empty());
}

}  // namespace
}  // namespace owlet
