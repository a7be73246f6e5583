#include "base/base64.hpp"

#include <gtest/gtest.h>

namespace owlet {
namespace {

TEST(Base64, ExamplesOfTheSpecification) {
  EXPECT_EQ(decode_base64(""), "");
  EXPECT_EQ(decode_base64("Zg=="), "f");
  EXPECT_EQ(decode_base64("Zm8="), "fo");
  EXPECT_EQ(decode_base64("Zm9v"), "foo");
  EXPECT_EQ(decode_base64("Zm9vYmFy"), "foobar");
  EXPECT_EQ(decode_base64("/+8="), "\xff\xef");
}

TEST(Base64, RefusesEverythingElse) {
  for (const char* wrong :
       {"Z", "Zg", "Zg=", "Zg===", "====", "Z===", "Zm=v", " Zm9", "Zm9\n", "Zm9-", "Zm9vZg==Zm9v"}) {
    EXPECT_FALSE(decode_base64(wrong).has_value()) << wrong;
  }
}

}  // namespace
}  // namespace owlet
