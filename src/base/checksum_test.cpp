#include "base/checksum.hpp"

#include <gtest/gtest.h>

#include <string_view>

namespace owlet {
namespace {

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

// The check value of CRC-32/ISO-HDLC.
TEST(Crc32, GivesTheCheckValue) { EXPECT_EQ(crc32(bytes_of("123456789")), 0xCBF43926u); }

TEST(Crc32, ContinuesOverParts) {
  EXPECT_EQ(crc32(bytes_of("6789"), crc32(bytes_of("12345"))), 0xCBF43926u);
  EXPECT_EQ(crc32({}), 0u);
  EXPECT_EQ(crc32({}, 77u), 77u);
}

TEST(Crc32, SeesOneFlippedBit) { EXPECT_NE(crc32(bytes_of("owlet")), crc32(bytes_of("owleu"))); }

}  // namespace
}  // namespace owlet
