#include "tensor/tensor.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "base/error.hpp"

namespace owlet {
namespace {

TEST(BFloat16, EveryPatternSurvivesTheWayThroughFloat) {
  for (uint32_t pattern = 0; pattern < 0x10000; ++pattern) {
    const bf16 value = bf16::from_bits(static_cast<uint16_t>(pattern));
    const float wide = static_cast<float>(value);
    const bf16 back(wide);
    // A signalling NaN becomes quiet; everything else, subnormals included, keeps its bits.
    const uint16_t expected =
        std::isnan(wide) ? static_cast<uint16_t>(pattern | 0x40u) : static_cast<uint16_t>(pattern);
    ASSERT_EQ(back.bits, expected) << pattern;
  }
}

TEST(BFloat16, RoundsToNearestTiesToEven) {
  EXPECT_EQ(bf16(1.0f + 0x1p-8f).bits, 0x3f80);             // tie, to the even 1.0
  EXPECT_EQ(bf16(1.0f + 0x1p-7f + 0x1p-8f).bits, 0x3f82);   // tie, up to the even
  EXPECT_EQ(bf16(1.0f + 0x1p-8f + 0x1p-20f).bits, 0x3f81);  // just above a tie
  EXPECT_EQ(bf16(std::numeric_limits<float>::max()).bits, 0x7f80);
  EXPECT_EQ(bf16(-std::numeric_limits<float>::infinity()).bits, 0xff80);
}

TEST(Shape, CountsElementsAndRefusesNonsense) {
  EXPECT_EQ(Shape({2, 3, 4}).num_elements(), 24);
  EXPECT_EQ(Shape({2, 0}).num_elements(), 0);
  EXPECT_EQ(Shape({2, 3})[-1], 3);
  EXPECT_EQ(to_string(Shape({2, 3})), "(2, 3)");
  EXPECT_THROW(Shape({-1}), Error);
  EXPECT_THROW(Shape({int64_t{1} << 40, int64_t{1} << 40}), Error);
  EXPECT_THROW(Shape({1, 1, 1, 1, 1, 1}), Error);
}

TEST(Tensor, ViewsShareMemoryAndIdentity) {
  const Tensor x = make_host_tensor({3, 2}, DType::f32);
  x.data<float>()[4] = 7;
  EXPECT_EQ(x.reshape({6}).key(), x.key());
  const Tensor last = x.slice(2, 3);
  EXPECT_EQ(last.data<float>()[0], 7);
  EXPECT_NE(last.key(), x.key());
  EXPECT_EQ(x.rows(), 3);
  EXPECT_EQ(x.columns(), 2);
  EXPECT_THROW(x.reshape({5}), Error);
  EXPECT_THROW(x.slice(2, 4), Error);
  EXPECT_THROW(Tensor(x.buffer(), 8, {3, 2}, DType::f32), Error);
}

TEST(Tensor, ElementsReadAndWriteInEveryType) {
  for (DType dtype :
       {DType::f64, DType::f32, DType::bf16, DType::i64, DType::i32, DType::u32, DType::u16, DType::i8, DType::u8}) {
    const Tensor x = make_host_tensor({2}, dtype);
    set_element(x, 1, 3);
    EXPECT_EQ(element_as_double(x, 0), 0) << to_string(dtype);
    EXPECT_EQ(element_as_double(x, 1), 3) << to_string(dtype);
    EXPECT_EQ(parse_dtype(to_string(dtype)), dtype);
  }
  EXPECT_THROW(parse_dtype("f31"), Error);
}

TEST(Tensor, HalfPrecisionReadsSubnormalsAndInfinity) {
  const Tensor x = make_host_tensor({4}, DType::f16);
  const uint16_t patterns[4] = {0x3c00, 0x0001, 0xfc00, 0x8400};
  std::memcpy(x.bytes(), patterns, sizeof(patterns));
  EXPECT_EQ(element_as_double(x, 0), 1.0);
  EXPECT_EQ(element_as_double(x, 1), 0x1p-24);
  EXPECT_EQ(element_as_double(x, 2), -std::numeric_limits<double>::infinity());
  EXPECT_EQ(element_as_double(x, 3), -0x1p-14);
}

}  // namespace
}  // namespace owlet
