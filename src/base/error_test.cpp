#include "base/error.hpp"

#include <gtest/gtest.h>

namespace owlet {
namespace {

TEST(Error, CarriesKindMessageAndHint) {
  const Error error(ErrorKind::not_found, "recipe is missing", "look again");
  EXPECT_EQ(error.kind(), ErrorKind::not_found);
  EXPECT_STREQ(error.what(), "recipe is missing");
  EXPECT_EQ(error.hint(), "look again");
}

TEST(Check, ThrowsTheFormattedMessageOnlyWhenFalse) {
  EXPECT_NO_THROW(check(true, ErrorKind::io, "never"));
  try {
    check(false, ErrorKind::corrupt_file, "{} columns, expected {}", 3, 4);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::corrupt_file);
    EXPECT_STREQ(error.what(), "3 columns, expected 4");
    EXPECT_EQ(error.hint(), "");
  }
}

TEST(ErrorKind, HasNames) {
  EXPECT_EQ(to_string(ErrorKind::invalid_argument), "invalid_argument");
  EXPECT_EQ(to_string(ErrorKind::internal), "internal");
}

}  // namespace
}  // namespace owlet
