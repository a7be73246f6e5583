#include "infer/sampler.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>

#include "base/error.hpp"

namespace owlet {
namespace {

const std::vector<float> kLogits = {0.5f, 2.0f, -1.0f, 1.5f};

std::map<int32_t, int> count_draws(const SamplerOptions& options, int num_draws,
                                   const std::vector<int32_t>& history = {}) {
  Sampler sampler(options, 4);
  std::map<int32_t, int> counts;
  for (int i = 0; i < num_draws; ++i) ++counts[sampler.sample(kLogits, history)];
  return counts;
}

TEST(Sampler, TemperatureZeroIsGreedyAndRepeatable) {
  for (int i = 0; i < 3; ++i) EXPECT_EQ(count_draws({.temperature = 0, .seed = static_cast<uint64_t>(i)}, 5).at(1), 5);
}

TEST(Sampler, GreedyTiesGoToTheSmallestId) {
  Sampler sampler({.temperature = 0}, 3);
  EXPECT_EQ(sampler.sample(std::vector<float>{1, 2, 2}, {}), 1);
}

TEST(Sampler, DrawsFollowTheSoftmax) {
  constexpr int kDraws = 40000;
  const auto counts = count_draws({.temperature = 1, .seed = 7}, kDraws);
  double total = 0;
  for (float logit : kLogits) total += std::exp(logit);
  for (int32_t id = 0; id < 4; ++id) {
    const double expected = std::exp(kLogits[static_cast<size_t>(id)]) / total;
    const double deviation = std::sqrt(expected * (1 - expected) / kDraws);
    EXPECT_NEAR(counts.at(id) / static_cast<double>(kDraws), expected, 5 * deviation) << id;
  }
}

TEST(Sampler, TopKKeepsTheBest) {
  const auto counts = count_draws({.temperature = 1, .top_k = 2}, 500);
  EXPECT_EQ(counts.size(), 2u);
  EXPECT_TRUE(counts.contains(1) && counts.contains(3));
  EXPECT_EQ(count_draws({.temperature = 1, .top_k = 1000}, 500).size(), 4u);
}

TEST(Sampler, TopPKeepsTheSmallestSufficientSet) {
  EXPECT_EQ(count_draws({.temperature = 1, .top_p = 0}, 200).size(), 1u);
  // Probabilities: 0.51, 0.31, 0.11, 0.03 for ids 1, 3, 0, 2.
  EXPECT_EQ(count_draws({.temperature = 1, .top_p = 0.6}, 2000).size(), 2u);
}

TEST(Sampler, MinPDropsTheUnlikely) {
  // Weights relative to the best: 1, 0.61, 0.22, 0.05.
  EXPECT_EQ(count_draws({.temperature = 1, .min_p = 0.3}, 2000).size(), 2u);
  EXPECT_EQ(count_draws({.temperature = 1, .min_p = 0.1}, 4000).size(), 3u);
}

TEST(Sampler, RepetitionPenaltyPunishesNegativeScoresToo) {
  // Greedy over (-2, +2) with penalty 1.5 gives -3 and 1.33: id 1 still wins, against (1.4) it loses.
  Sampler sampler({.temperature = 0, .repetition_penalty = 1.5}, 2);
  const std::vector<int32_t> both = {0, 1}, second = {1};
  EXPECT_EQ(sampler.sample(std::vector<float>{-2.0f, 2.0f}, both), 1);
  EXPECT_EQ(sampler.sample(std::vector<float>{1.4f, 2.0f}, second), 0);
  EXPECT_EQ(sampler.sample(std::vector<float>{-2.9f, -2.0f}, second), 0);
}

TEST(Sampler, SameSeedSameDrawsOtherSeedOtherDraws) {
  const auto draw_many = [](uint64_t seed) {
    Sampler sampler({.temperature = 0.9, .seed = seed}, 4);
    std::vector<int32_t> ids;
    for (int i = 0; i < 64; ++i) ids.push_back(sampler.sample(kLogits, ids));
    return ids;
  };
  EXPECT_EQ(draw_many(1), draw_many(1));
  EXPECT_NE(draw_many(1), draw_many(2));
}

TEST(Sampler, PaddedIdsAreNeverDrawn) {
  Sampler sampler({.temperature = 0}, 2);
  EXPECT_EQ(sampler.sample(std::vector<float>{0.0f, 1.0f, 9.0f}, {}), 1);
}

TEST(Sampler, RefusesNonsense) {
  EXPECT_THROW(Sampler({.temperature = -1}, 4), Error);
  EXPECT_THROW(Sampler({.top_p = 1.5}, 4), Error);
  EXPECT_THROW(Sampler({.repetition_penalty = 0}, 4), Error);
  Sampler sampler({}, 2);
  EXPECT_THROW(sampler.sample(std::vector<float>{0.0f, std::numeric_limits<float>::quiet_NaN()}, {}), Error);
}

}  // namespace
}  // namespace owlet
