#include "cli/loss_curve.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace owlet {
namespace {

/// Dots of Braille characters (U+2800): bit numbers by (column, row).
constexpr int kBrailleBit[2][4] = {{0, 1, 2, 6}, {3, 4, 5, 7}};

class DotCanvas {
 public:
  DotCanvas(int width, int height) : width_(width), height_(height), cells_(static_cast<size_t>(width * height)) {}
  int dot_columns() const { return 2 * width_; }
  int dot_rows() const { return 4 * height_; }
  void set(int column, int row) {
    cells_[static_cast<size_t>(row / 4 * width_ + column / 2)] |=
        static_cast<uint8_t>(1 << kBrailleBit[column % 2][row % 4]);
  }
  std::string line(int row) const {
    std::string text;
    for (int column = 0; column < width_; ++column) {
      const unsigned code = 0x2800u + cells_[static_cast<size_t>(row * width_ + column)];
      text += static_cast<char>(0xe0u | code >> 12);
      text += static_cast<char>(0x80u | (code >> 6 & 0x3fu));
      text += static_cast<char>(0x80u | (code & 0x3fu));
    }
    return text;
  }

 private:
  int width_, height_;
  std::vector<uint8_t> cells_;
};

}  // namespace

std::string draw_curve(const std::vector<CurvePoint>& points, int width, int height, const std::string& x_name) {
  std::vector<CurvePoint> finite;
  std::ranges::copy_if(points, std::back_inserter(finite),
                       [](const CurvePoint& p) { return std::isfinite(p.x) && std::isfinite(p.y); });
  if (finite.size() < 2) return "";
  const auto [low, high] = std::ranges::minmax(finite, {}, &CurvePoint::y);
  const auto [first, last] = std::ranges::minmax(finite, {}, &CurvePoint::x);
  const double y_range = std::max(high.y - low.y, 1e-12), x_range = std::max(last.x - first.x, 1e-12);

  DotCanvas canvas(width, height);
  int previous_column = -1, previous_row = 0;
  for (const CurvePoint& point : finite) {
    const int column = static_cast<int>((point.x - first.x) / x_range * (canvas.dot_columns() - 1));
    const int row = static_cast<int>((high.y - point.y) / y_range * (canvas.dot_rows() - 1));
    canvas.set(column, row);
    // Joins neighbours, so that steep parts stay one line.
    for (int c = previous_column + 1; previous_column >= 0 && c < column; ++c) {
      canvas.set(c, previous_row + (row - previous_row) * (c - previous_column) / (column - previous_column));
    }
    previous_column = column;
    previous_row = row;
  }
  std::string chart;
  for (int row = 0; row < height; ++row) {
    const bool has_label = row == 0 || row == height - 1;
    const std::string label = has_label ? fmt::format("{:7.3f}", row == 0 ? high.y : low.y) : std::string(7, ' ');
    chart += fmt::format("{} │{}\n", label, canvas.line(row));
  }
  const std::string left = fmt::format("{:.0f}", first.x), right = fmt::format("{} {:.0f}", x_name, last.x);
  const int gap = std::max(1, width - static_cast<int>(left.size() + right.size()));
  chart += fmt::format("        └{:─<{}}\n         {}{:{}}{}\n", "", width, left, "", gap, right);
  return chart;
}

}  // namespace owlet
