#include "base/human.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace owlet {
namespace {

TEST(FormatBytes, ScalesByThousands) {
  EXPECT_EQ(format_bytes(0), "0 B");
  EXPECT_EQ(format_bytes(999), "999 B");
  EXPECT_EQ(format_bytes(1000), "1 kB");
  EXPECT_EQ(format_bytes(1500000000), "1.5 GB");
  EXPECT_EQ(format_bytes(128000000000), "128 GB");
  EXPECT_EQ(format_bytes(999960000), "1 GB");
  EXPECT_EQ(format_bytes(std::numeric_limits<uint64_t>::max()), "18.4 EB");
}

TEST(FormatCount, ScalesByThousands) {
  EXPECT_EQ(format_count(0), "0");
  EXPECT_EQ(format_count(512), "512");
  EXPECT_EQ(format_count(15187968), "15.2 M");
  EXPECT_EQ(format_count(1.1e9), "1.1 B");
  EXPECT_EQ(format_count(-2500), "-2.5 k");
  EXPECT_EQ(format_count(5e17), "500000 T");
  EXPECT_EQ(format_count(std::numeric_limits<double>::quiet_NaN()), "unknown");
}

TEST(FormatDuration, UsesTheTwoLargestUnits) {
  EXPECT_EQ(format_duration(0.25), "0.25 s");
  EXPECT_EQ(format_duration(3.14), "3.1 s");
  EXPECT_EQ(format_duration(12.3), "12 s");
  EXPECT_EQ(format_duration(59.7), "1 min 00 s");
  EXPECT_EQ(format_duration(187), "3 min 07 s");
  EXPECT_EQ(format_duration(7500), "2 h 05 min");
  EXPECT_EQ(format_duration(86390), "1 d 00 h");
  EXPECT_EQ(format_duration(3.2e5), "3 d 17 h");
  EXPECT_EQ(format_duration(-1), "unknown");
  EXPECT_EQ(format_duration(std::numeric_limits<double>::infinity()), "unknown");
}

}  // namespace
}  // namespace owlet
