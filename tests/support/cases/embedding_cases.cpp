#include "tests/support/op_case.hpp"

namespace owlet::test {

std::vector<OpCase> embedding_cases() {
  std::vector<OpCase> cases;
  const auto add = [&](int64_t N, int64_t V, int64_t C) {
    const std::string variant = fmt::format("N{}V{}C{}", N, V, C);
    cases.push_back(make_case<op::Embedding>(variant, [=](CaseInputs& in) {
      return op::Embedding{in.indices({N}, 0, V), in.normal({V, C}), in.empty({N, C})};
    }));
    cases.push_back(make_case<op::EmbeddingGrad>(variant, [=](CaseInputs& in) {
      return op::EmbeddingGrad{in.normal({N, C}), in.indices({N}, 0, V), in.slot({V, C})};
    }));
  };
  for (int64_t C : lengths_around_vectors()) add(5, 7, C);
  add(1, 1, 3);       // one row
  add(40, 3, 20);     // each row many times
  add(300, 500, 70);  // several ranges of work
  cases.push_back(make_case<op::Embedding>("B2T3", [](CaseInputs& in) {
    return op::Embedding{in.indices({2, 3}, 0, 4), in.normal({4, 9}), in.empty({2, 3, 9})};
  }));

  const auto add_append = [&](int64_t B, int64_t T, int64_t S, int64_t K, int64_t D) {
    cases.push_back(make_case<op::CacheAppend>(fmt::format("B{}T{}S{}K{}D{}", B, T, S, K, D), [=](CaseInputs& in) {
      return op::CacheAppend{in.normal({B, T, K, D}), in.indices({B}, T, S + 1), in.normal({B, S, K, D})};
    }));
  };
  add_append(1, 1, 1, 1, 1);
  add_append(3, 1, 9, 2, 17);
  add_append(2, 5, 5, 3, 33);
  add_append(2, 4, 50, 2, 64);
  return cases;
}

}  // namespace owlet::test
