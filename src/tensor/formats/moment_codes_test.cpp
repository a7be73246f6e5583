#include "tensor/formats/moment_codes.hpp"

#include <gtest/gtest.h>

#include "base/random.hpp"

namespace owlet::formats {
namespace {

template <typename Code>
void expect_every_code_survives() {
  double previous = -1;
  for (int code = 0; code <= Code::kLargestCode; ++code) {
    const double value = Code::decode(code);
    EXPECT_GT(value, previous) << code;
    previous = value;
    for (const double dither : {0.5 / 65536, 0.5, 1 - 0.5 / 65536}) EXPECT_EQ(Code::encode(value, dither), code);
  }
  EXPECT_EQ(previous, Code::largest());
  EXPECT_EQ(Code::encode(1e30, 0.5), Code::kLargestCode);
  EXPECT_EQ(Code::encode(std::nan(""), 0.5), Code::kLargestCode);
}

TEST(MomentCode, EveryCodeSurvives) {
  expect_every_code_survives<FirstMomentCode>();
  expect_every_code_survives<SecondMomentCode>();
}

/// Neighbouring codes differ by an eighth or a sixteenth of their value, over four decades.
TEST(MomentCode, StepsAreRelative) {
  for (int code = 8; code < FirstMomentCode::kLargestCode; ++code) {
    EXPECT_LE(FirstMomentCode::decode(code + 1) / FirstMomentCode::decode(code), 1.125);
  }
  for (int code = 16; code < SecondMomentCode::kLargestCode; ++code) {
    EXPECT_LE(SecondMomentCode::decode(code + 1) / SecondMomentCode::decode(code), 1.0625);
  }
  EXPECT_LT(FirstMomentCode::decode(8) / FirstMomentCode::largest(), 1e-4);
}

/// The mean over all dithers is the value itself: codes differ by at most an eighth, and n evenly spread dithers get
/// the share of the upper one right to 1 / n.
TEST(MomentCode, TheMeanIsExact) {
  RandomStream random(1, 2);
  for (int i = 0; i < 200; ++i) {
    const double value = FirstMomentCode::largest() * std::exp2(-16 * random.next_double());
    constexpr int kDithers = 1024;
    double sum = 0;
    for (int d = 0; d < kDithers; ++d) {
      sum += FirstMomentCode::decode(FirstMomentCode::encode(value, (d + 0.5) / kDithers));
    }
    const double step = std::max(value / 8, std::ldexp(1.0, -17));
    EXPECT_NEAR(sum / kDithers, value, step / kDithers) << value;
  }
}

}  // namespace
}  // namespace owlet::formats
