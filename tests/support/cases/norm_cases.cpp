#include <cmath>

#include "backends/reference/reference_backend.hpp"
#include "tests/support/op_case.hpp"

namespace owlet::test {

namespace {

op::RmsNorm rms_norm_case(CaseInputs& in, int64_t N, int64_t C) {
  return {in.normal({N, C}), in.normal({C}, 0.5, 1), in.empty({N, C}), in.empty({N}), 1e-5f};
}

/// A mean well away from 0, so that a variance from the mean of squares would lose digits.
op::LayerNorm layer_norm_case(CaseInputs& in, int64_t N, int64_t C, bool has_bias) {
  const Tensor weight = in.normal({C}, 0.5, 1), bias = has_bias ? in.normal({C}) : Tensor();
  return {in.normal({N, C}, 1, 4), weight, bias, in.empty({N, C}), in.empty({N}), in.empty({N}), 1e-5f};
}

op::RmsNormGrad rms_norm_grad_case(CaseInputs& in, int64_t N, int64_t C) {
  const op::RmsNorm forward = rms_norm_case(in, N, C);
  make_reference_backend()->run(forward);
  return {in.normal({N, C}), forward.x, forward.weight, forward.inv_rms, in.slot({N, C}), in.slot({C})};
}

op::LayerNormGrad layer_norm_grad_case(CaseInputs& in, int64_t N, int64_t C) {
  const op::LayerNorm forward = layer_norm_case(in, N, C, false);
  make_reference_backend()->run(forward);
  return {in.normal({N, C}), forward.x,       forward.weight, forward.mean,
          forward.inv_std,   in.slot({N, C}), in.slot({C}),   in.slot({C})};
}

}  // namespace

std::vector<OpCase> norm_cases() {
  std::vector<OpCase> cases;
  const auto add = [&](int64_t N, int64_t C) {
    const std::string variant = fmt::format("{}x{}", N, C);
    cases.push_back(make_case<op::RmsNorm>(variant, [=](CaseInputs& in) { return rms_norm_case(in, N, C); }));
    cases.push_back(make_case<op::RmsNormGrad>(variant, [=](CaseInputs& in) { return rms_norm_grad_case(in, N, C); }));
    for (bool has_bias : {false, true}) {
      cases.push_back(make_case<op::LayerNorm>(variant + (has_bias ? "+bias" : ""),
                                               [=](CaseInputs& in) { return layer_norm_case(in, N, C, has_bias); }));
    }
    cases.push_back(
        make_case<op::LayerNormGrad>(variant, [=](CaseInputs& in) { return layer_norm_grad_case(in, N, C); }));
  };
  for (int64_t C : lengths_around_vectors()) add(3, C);
  add(1, 300);
  add(300, 70);  // several ranges of work
  OpCase in_place = make_case<op::RmsNorm>("in_place", [](CaseInputs& in) { return rms_norm_case(in, 4, 37); });
  in_place.in_place = {{"y", "x"}};
  cases.push_back(in_place);
  return cases;
}

}  // namespace owlet::test
