// Curves in the terminal.
#pragma once

#include <string>
#include <vector>

namespace owlet {

struct CurvePoint {
  double x = 0, y = 0;
};

/// A chart of the points in `width` by `height` characters (Braille dots, two by four a character), with the range of y
/// at the left and of x below. Points that are not finite are left out; "" if fewer than two remain.
std::string draw_curve(const std::vector<CurvePoint>& points, int width, int height, const std::string& x_name);

}  // namespace owlet
