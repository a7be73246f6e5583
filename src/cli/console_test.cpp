#include "cli/loss_curve.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "cli/console.hpp"
#include "cli/exit_codes.hpp"

namespace owlet {
namespace {

TEST(LossCurve, DrawsFallingLineFromTopLeftToBottomRight) {
  const std::string chart = draw_curve({{0, 4}, {50, 2}, {100, 1}}, 10, 3, "step");
  // Braille: a dot in the first cell's upper left, one in the last cell's lower right.
  EXPECT_EQ(chart.find("  4.000 │⠉"), 0u) << chart;
  EXPECT_NE(chart.find("  1.000 │"), std::string::npos) << chart;
  EXPECT_NE(chart.find("step 100"), std::string::npos) << chart;
}

TEST(LossCurve, NeedsTwoFinitePoints) {
  EXPECT_EQ(draw_curve({{0, 1}}, 10, 3, "step"), "");
  EXPECT_EQ(draw_curve({{0, 1}, {1, std::numeric_limits<double>::quiet_NaN()}}, 10, 3, "step"), "");
}

TEST(LossCurve, AFlatLineIsNotADivisionByZero) { EXPECT_NE(draw_curve({{0, 1}, {1, 1}}, 10, 3, "step"), ""); }

TEST(ProgressBar, StaysInItsWidth) {
  EXPECT_EQ(progress_bar(0.0, 4), "[>   ]");
  EXPECT_EQ(progress_bar(0.5, 4), "[==> ]");
  EXPECT_EQ(progress_bar(1.0, 4), "[====]");
  EXPECT_EQ(progress_bar(7.0, 4), "[====]");
}

TEST(Printable, LetsNoControlSequenceThrough) {
  EXPECT_EQ(printable("a\x1b[2J\a\tb\nc"), "a\uFFFD[2J\uFFFD\tb\nc");
  EXPECT_EQ(printable("naïve 猫"), "naïve 猫");
}

TEST(ExitCodes, FollowTheTable) {
  EXPECT_EQ(exit_code(ErrorKind::invalid_argument), 2);
  EXPECT_EQ(exit_code(ErrorKind::corrupt_file), 3);
  EXPECT_EQ(exit_code(ErrorKind::out_of_memory), 4);
  EXPECT_EQ(exit_code(ErrorKind::cancelled), 130);
}

}  // namespace
}  // namespace owlet
