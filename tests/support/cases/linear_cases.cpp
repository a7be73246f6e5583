#include "tests/support/op_case.hpp"

namespace owlet::test {

std::vector<OpCase> linear_cases() {
  std::vector<OpCase> cases;
  const auto add = [&](int64_t N, int64_t K, int64_t M) {
    const std::string variant = fmt::format("N{}K{}M{}", N, K, M);
    for (bool has_bias : {false, true}) {
      OpCase forward = make_case<op::Linear>(variant + (has_bias ? "+bias" : ""), [=](CaseInputs& in) {
        const Tensor bias = has_bias ? in.normal({M}) : Tensor();
        return op::Linear{in.normal({N, K}), in.normal({M, K}), bias, in.empty({N, M})};
      });
      cases.push_back(forward);
      forward.name += "->f32";
      forward.types = {{"y", DType::f32}};
      if (N * K * M % 2 == 1) cases.push_back(forward);
    }
    cases.push_back(make_case<op::LinearInputGrad>(variant, [=](CaseInputs& in) {
      return op::LinearInputGrad{in.normal({N, M}), in.normal({M, K}), in.slot({N, K})};
    }));
    cases.push_back(make_case<op::LinearWeightGrad>(variant, [=](CaseInputs& in) {
      return op::LinearWeightGrad{in.normal({N, M}), in.normal({N, K}), in.slot({M, K}), in.slot({M})};
    }));
  };
  add(1, 1, 1);
  add(1, 7, 5);  // one row: decoding one token
  add(1, 64, 48);
  add(2, 3, 1);
  add(3, 15, 17);
  add(5, 16, 16);
  add(4, 33, 31);
  add(9, 65, 7);
  add(65, 5, 33);
  add(70, 96, 80);
  cases.push_back(make_case<op::Linear>("B2T3", [](CaseInputs& in) {
    return op::Linear{in.normal({2, 3, 8}), in.normal({5, 8}), in.normal({5}), in.empty({2, 3, 5})};
  }));
  return cases;
}

}  // namespace owlet::test
