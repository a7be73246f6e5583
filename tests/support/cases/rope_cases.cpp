#include <cmath>

#include "tests/support/op_case.hpp"

namespace owlet::test {

namespace {

/// (P, R/2, 2) with (cos, sin) of position * 10000^(-2 i / R).
Tensor angle_table(CaseInputs& in, int64_t num_positions, int64_t num_pairs) {
  const Tensor table = in.empty({num_positions, num_pairs, 2});
  for (int64_t position = 0; position < num_positions; ++position) {
    for (int64_t i = 0; i < num_pairs; ++i) {
      const double exponent = -static_cast<double>(i) / static_cast<double>(num_pairs);
      const double angle = static_cast<double>(position) * std::pow(10000.0, exponent);
      table.data<double>()[(position * num_pairs + i) * 2] = std::cos(angle);
      table.data<double>()[(position * num_pairs + i) * 2 + 1] = std::sin(angle);
    }
  }
  return table;
}

}  // namespace

std::vector<OpCase> rope_cases() {
  std::vector<OpCase> cases;
  const auto add = [&](int64_t B, int64_t T, int64_t H, int64_t D, int64_t R) {
    for (RopeStyle style : {RopeStyle::halves, RopeStyle::pairs}) {
      for (bool inverse : {false, true}) {
        const std::string variant =
            fmt::format("B{}T{}H{}D{}R{}{}{}", B, T, H, D, R, style == RopeStyle::halves ? "halves" : "pairs",
                        inverse ? "+inverse" : "");
        cases.push_back(make_case<op::Rope>(variant, [=](CaseInputs& in) {
          const int64_t num_positions = T + 9;
          const Tensor positions = in.indices({B, T}, 0, num_positions), x = in.normal({B, T, H, D});
          return op::Rope{x, positions, angle_table(in, num_positions, R / 2), in.empty({B, T, H, D}), style, inverse};
        }));
        OpCase in_place = cases.back();
        in_place.name += "+in_place";
        in_place.in_place = {{"y", "x"}};
        if (T == 3) cases.push_back(in_place);
      }
    }
  };
  for (int64_t half : {1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33}) add(2, 2, 2, 2 * half, 2 * half);
  add(1, 3, 1, 5, 2);  // part of the head passes unchanged
  add(2, 3, 3, 40, 22);
  add(3, 70, 4, 32, 32);  // several ranges of work
  return cases;
}

}  // namespace owlet::test
