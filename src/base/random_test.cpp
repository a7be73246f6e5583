#include "base/random.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "base/error.hpp"

namespace owlet {
namespace {

using Block = std::array<uint32_t, 4>;

// Known answers published with Random123 (kat_vectors, philox4x32 with 10 rounds).
TEST(Philox, GivesThePublishedAnswers) {
  EXPECT_EQ(philox4x32(0, 0, 0), (Block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox4x32(~uint64_t{0}, ~uint64_t{0}, ~uint64_t{0}),
            (Block{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox4x32(0x299f31d0a4093822, 0x85a308d3243f6a88, 0x0370734413198a2e),
            (Block{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(ElementBits, AreTheWordsOfPhiloxBlocks) {
  for (const uint64_t i : {0u, 15u, 16u, 63u, 64u, 100u, 1000000u}) {
    const uint64_t block = i / 64 * 16 + i % 16;
    EXPECT_EQ(element_bits(5, 9, 3, i), philox4x32(5, (uint64_t{3} << 32) + block, 9)[i % 64 / 16]);
  }
  EXPECT_NE(element_bits(5, 9, 3, 7), element_bits(5, 9, 4, 7));
  EXPECT_NE(element_bits(5, 9, 3, 7), element_bits(5, 8, 3, 7));
}

TEST(RandomStream, DrawsWhatTheStatelessFunctionsGive) {
  RandomStream stream(7, 3, 100);
  EXPECT_EQ(stream.next_u64(), random_u64(7, 3, 100));
  EXPECT_EQ(stream.next_double(), random_double(7, 3, 101));
  EXPECT_EQ(stream.next_normal(), random_normal(7, 3, 102));
  EXPECT_EQ(stream.counter(), 103u);
}

TEST(RandomStream, SeedStreamAndCounterAllMatter) {
  const uint64_t value = random_u64(1, 2, 3);
  EXPECT_NE(value, random_u64(2, 2, 3));
  EXPECT_NE(value, random_u64(1, 3, 3));
  EXPECT_NE(value, random_u64(1, 2, 4));
}

TEST(RandomStream, NextBelowStaysBelowAndCoversEvenly) {
  RandomStream stream(1, 1);
  constexpr int kDraws = 60000, kBound = 6;
  std::vector<int> counts(kBound);
  for (int i = 0; i < kDraws; ++i) ++counts.at(stream.next_below(kBound));
  // Binomial with p = 1/6: standard deviation 91; five of them.
  for (const int count : counts) EXPECT_NEAR(count, kDraws / kBound, 456);
  EXPECT_EQ(stream.next_below(1), 0u);
  EXPECT_THROW(stream.next_below(0), Error);
}

// A bound just above 2^63 refuses nearly half of all draws; a plain modulo would hit the lower half twice as often.
TEST(RandomStream, NextBelowHasNoBiasForHugeBounds) {
  RandomStream stream(5, 5);
  const uint64_t bound = (uint64_t{1} << 63) + (uint64_t{1} << 62);
  int below_half = 0;
  for (int i = 0; i < 10000; ++i) {
    const uint64_t value = stream.next_below(bound);
    ASSERT_LT(value, bound);
    below_half += value < bound / 2;
  }
  EXPECT_NEAR(below_half, 5000, 250);
  EXPECT_GT(stream.counter(), 12000u);
}

TEST(RandomStream, MomentsAreThoseOfTheDistributions) {
  RandomStream stream(11, stream_id("moments"));
  constexpr int kDraws = 100000;
  double uniform_sum = 0, normal_sum = 0, normal_squares = 0;
  for (int i = 0; i < kDraws; ++i) {
    const double uniform = stream.next_double(), normal = stream.next_normal();
    ASSERT_GE(uniform, 0.0);
    ASSERT_LT(uniform, 1.0);
    uniform_sum += uniform;
    normal_sum += normal;
    normal_squares += normal * normal;
  }
  // Five standard errors: sqrt(1/12/n), sqrt(1/n), sqrt(2/n).
  EXPECT_NEAR(uniform_sum / kDraws, 0.5, 0.0046);
  EXPECT_NEAR(normal_sum / kDraws, 0.0, 0.0159);
  EXPECT_NEAR(normal_squares / kDraws, 1.0, 0.0224);
}

TEST(StreamId, IsFnv1a) {
  EXPECT_EQ(stream_id(""), 0xcbf29ce484222325u);
  EXPECT_EQ(stream_id("a"), 0xaf63dc4c8601ec8cu);
  EXPECT_EQ(stream_id("foobar"), 0x85944171f73967e8u);
}

TEST(RandomPermutation, IsABijectionForEverySize) {
  for (const uint64_t size : {0, 1, 2, 3, 4, 5, 7, 15, 16, 17, 63, 64, 65, 255, 256, 257, 1000, 4096, 4097, 20000}) {
    const RandomPermutation permutation(size, 42, 1);
    std::vector<bool> seen(size);
    for (uint64_t position = 0; position < size; ++position) {
      const uint64_t index = permutation(position);
      ASSERT_LT(index, size);
      ASSERT_FALSE(seen[index]) << "size " << size << ", position " << position;
      seen[index] = true;
    }
    EXPECT_THROW(permutation(size), Error);
  }
}

TEST(RandomPermutation, DiffersBySeedAndStream) {
  constexpr uint64_t kSize = 1000;
  const RandomPermutation permutation(kSize, 1, 1), other_seed(kSize, 2, 1), other_stream(kSize, 1, 2);
  int same_seed = 0, same_stream = 0, fixed = 0;
  for (uint64_t position = 0; position < kSize; ++position) {
    same_seed += permutation(position) == other_seed(position);
    same_stream += permutation(position) == other_stream(position);
    fixed += permutation(position) == position;
  }
  // Agreements of two random permutations are Poisson distributed with mean 1.
  EXPECT_LT(same_seed, 10);
  EXPECT_LT(same_stream, 10);
  EXPECT_LT(fixed, 10);
}

TEST(RandomPermutation, WorksOnTheLargestSizes) {
  const RandomPermutation permutation(~uint64_t{0}, 1, 1);
  EXPECT_LT(permutation(~uint64_t{0} - 1), ~uint64_t{0});
  EXPECT_NE(permutation(0), permutation(1));
}

// Three items have six orders; every one must come up about equally often over seeds.
TEST(RandomPermutation, SmallSizesReachAllOrders) {
  constexpr int kSeeds = 6000;
  std::vector<int> counts(27);
  for (int seed = 0; seed < kSeeds; ++seed) {
    const RandomPermutation permutation(3, static_cast<uint64_t>(seed), 9);
    ++counts[permutation(0) * 9 + permutation(1) * 3 + permutation(2)];
  }
  for (const int order : {5, 7, 11, 15, 19, 21}) EXPECT_NEAR(counts[static_cast<size_t>(order)], kSeeds / 6, 500);
}

}  // namespace
}  // namespace owlet
