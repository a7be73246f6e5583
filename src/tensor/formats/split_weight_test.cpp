#include "tensor/formats/split_weight.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/random.hpp"

namespace owlet::formats {
namespace {

uint32_t word_of(float value) { return std::bit_cast<uint32_t>(value); }

float from_word(uint32_t word) { return std::bit_cast<float>(word); }

float joined(const SplitWeight& halves) { return join_weight(halves.upper, halves.lower); }

TEST(SplitWeight, HalvesAreTheWeightBitForBit) {
  std::vector<uint32_t> words{0,           0x80000000u, 0x00000001u, 0x00008000u, 0x007fffffu, 0x7f7fffffu, 0x7f800000u,
                              0xff800000u, 0x3f808000u, 0x3f818000u, 0x3f80ffffu, 0x3f807fffu, 0xbf808000u};
  RandomStream random(1, 2);
  for (int i = 0; i < 100000; ++i) words.push_back(static_cast<uint32_t>(random.next_below(uint64_t{1} << 32)));
  for (const uint32_t word : words) {
    const float weight = from_word(word);
    if (std::isnan(weight)) continue;
    EXPECT_EQ(word_of(joined(split_weight(weight))), word) << std::hex << word;
  }
}

TEST(SplitWeight, UpperIsTheNearestBf16) {
  EXPECT_EQ(split_weight(1.0f).upper.bits, 0x3f80);
  EXPECT_EQ(split_weight(from_word(0x3f807fff)).upper.bits, 0x3f80);
  EXPECT_EQ(split_weight(from_word(0x3f808001)).upper.bits, 0x3f81);
  // A tie: to even it would be 0x3f80.
  EXPECT_EQ(split_weight(from_word(0x3f808000)).upper.bits, 0x3f81);
  EXPECT_EQ(split_weight(from_word(0xbf808000)).upper.bits, 0xbf81);
  EXPECT_EQ(split_weight(std::numeric_limits<float>::max()).upper.bits, 0x7f80);
  RandomStream random(3, 4);
  for (int i = 0; i < 100000; ++i) {
    const auto word = static_cast<uint32_t>(random.next_below(uint64_t{1} << 32));
    if (std::isnan(from_word(word)) || (word & 0xffffu) == 0x8000u) continue;
    EXPECT_EQ(split_weight(from_word(word)).upper.bits, bf16(from_word(word)).bits) << std::hex << word;
  }
}

TEST(SplitWeight, NanStaysNan) {
  for (const uint32_t word : {0x7f800001u, 0x7fffffffu, 0xff808000u, 0xffffffffu, 0x7fc00000u}) {
    const SplitWeight halves = split_weight(from_word(word));
    EXPECT_TRUE(std::isnan(static_cast<float>(halves.upper))) << std::hex << word;
    EXPECT_TRUE(std::isnan(joined(halves))) << std::hex << word;
  }
}

}  // namespace
}  // namespace owlet::formats
