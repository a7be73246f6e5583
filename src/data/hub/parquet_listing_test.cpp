#include "data/hub/parquet_listing.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"

namespace owlet {
namespace {

ParquetListing parse(const std::string& text) { return parse_parquet_listing(parse_json(text, "list"), "list"); }

TEST(ParquetListing, AddressesGiveRevisionAndPath) {
  const ParquetListing listing = parse(R"({"parquet_files":[
      {"dataset":"o/n","config":"c","split":"train","filename":"0000.parquet","size":7,
       "url":"https://huggingface.co/datasets/o/n/resolve/refs%2Fconvert%2Fparquet/c/train/0000.parquet"},
      {"dataset":"o/n","config":"c","split":"test","filename":"0000.parquet","size":8}],
      "pending":[],"failed":[],"partial":false})");
  ASSERT_EQ(listing.files.size(), 2u);
  EXPECT_EQ(listing.files[0].revision, "refs/convert/parquet");
  EXPECT_EQ(listing.files[0].path, "c/train/0000.parquet");
  EXPECT_EQ(listing.files[0].bytes, 7u);
  EXPECT_EQ(listing.files[1].path, "c/test/0000.parquet");
  EXPECT_FALSE(listing.is_partial);
}

TEST(ParquetListing, StatesAreKept) {
  const ParquetListing listing = parse(R"({"parquet_files":[
      {"config":"c","split":"partial-train","filename":"0000.parquet","size":7}],
      "pending":[{"dataset":"o/n","config":"d","split":"train"}],"failed":[{"config":"e"}, "odd"]})");
  EXPECT_TRUE(listing.is_partial);
  EXPECT_EQ(listing.files[0].split, "train");
  EXPECT_EQ(listing.files[0].path, "c/partial-train/0000.parquet");
  EXPECT_EQ(listing.pending, std::vector<std::string>{"d/train"});
  EXPECT_EQ(listing.failed, std::vector<std::string>{"e"});
}

TEST(ParquetListing, HostileAnswersAreRefused) {
  for (const char* text : {
           "[]",
           "{}",
           R"({"parquet_files":3})",
           R"({"parquet_files":[3]})",
           R"({"parquet_files":[{"config":"c"}]})",
           R"({"parquet_files":[{"config":"..","split":"..","filename":"x"}]})",
           R"({"parquet_files":[{"config":"c","split":"s","filename":"x","size":-1}]})",
           R"({"parquet_files":[{"config":"c","split":"s","filename":"x","url":"h/resolve/main/..%2F..%2Fx"}]})",
           R"({"parquet_files":[{"config":"c","split":"s","filename":"x","url":"h/resolve/..%2Fmain/x"}]})",
       }) {
    try {
      parse(text);
      ADD_FAILURE() << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::corrupt_file) << text;
    }
  }
}

TEST(ParquetListing, TheBranchSaysTheSame) {
  const ParquetListing listing = listing_of_branch(
      {{"README.md", 3, "", ""}, {"c/train/0000.parquet", 7, "", ""}, {"c/partial-test/0000.parquet", 8, "", ""}},
      "abc");
  ASSERT_EQ(listing.files.size(), 2u);
  EXPECT_EQ(listing.files[0].config, "c");
  EXPECT_EQ(listing.files[0].split, "train");
  EXPECT_EQ(listing.files[0].revision, "abc");
  EXPECT_EQ(listing.files[1].split, "test");
  EXPECT_TRUE(listing.is_partial);
}

}  // namespace
}  // namespace owlet
