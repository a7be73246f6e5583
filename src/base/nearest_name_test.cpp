#include "base/nearest_name.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace owlet {
namespace {

TEST(EditDistance, counts_insertions_deletions_replacements_and_swaps) {
  EXPECT_EQ(edit_distance("", ""), 0u);
  EXPECT_EQ(edit_distance("", "abc"), 3u);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
  EXPECT_EQ(edit_distance("learnign_rate", "learning_rate"), 1u);
  EXPECT_EQ(edit_distance("abcd", "abcd"), 0u);
}

TEST(NearestName, finds_the_nearest_and_nothing_where_none_is_near) {
  const std::vector<std::string> known{"width", "layers", "heads", "kv_heads"};
  EXPECT_EQ(nearest_name("widht", known), "width");
  EXPECT_EQ(nearest_name("head", known), "heads");
  EXPECT_EQ(nearest_name("kvheads", known), "kv_heads");
  EXPECT_EQ(nearest_name("temperature", known), "");
  EXPECT_EQ(nearest_name("x", {}), "");
}

}  // namespace
}  // namespace owlet
