#include "tests/support/op_case.hpp"

namespace owlet::test {

namespace {

/// About one token in five is not scored.
Tensor draw_targets(CaseInputs& in, int64_t N, int64_t V) {
  const Tensor targets = in.indices({N}, 0, V);
  for (int32_t& target : targets.span<int32_t>()) {
    if (in.random().next_below(5) == 0) target = -1;
  }
  return targets;
}

}  // namespace

std::vector<OpCase> cross_entropy_cases() {
  std::vector<OpCase> cases;
  const auto add = [&](int64_t N, int64_t C, int64_t V, int64_t chunk_rows) {
    const std::string variant = fmt::format("N{}C{}V{}chunk{}", N, C, V, chunk_rows);
    cases.push_back(make_case<op::LinearCrossEntropy>(variant, [=](CaseInputs& in) {
      op::LinearCrossEntropy op;
      op.x = in.normal({N, C});
      op.weight = in.normal({V, C}, 0.5);
      op.targets = draw_targets(in, N, V);
      op.losses = in.empty({N});
      op.dx = in.slot({N, C});
      op.dweight = in.slot({V, C});
      op.gradient_scale = 0.25f;
      op.chunk_rows = chunk_rows;
      return op;
    }));
  };
  add(1, 1, 1, 256);
  add(1, 5, 2, 256);
  add(4, 8, 17, 256);
  add(6, 7, 31, 2);   // three whole chunks
  add(7, 16, 33, 3);  // a short last chunk
  add(5, 3, 64, 1);
  add(50, 24, 300, 16);
  add(3, 4, 2000, 2);
  cases.push_back(make_case<op::LinearCrossEntropy>("nothing_scored", [](CaseInputs& in) {
    return op::LinearCrossEntropy{in.normal({3, 4}), in.normal({5, 4}), in.indices({3}, -1, 0),
                                  in.empty({3}),     in.slot({3, 4}),   in.slot({5, 4})};
  }));
  cases.push_back(make_case<op::LinearCrossEntropy>("large_logits", [](CaseInputs& in) {
    return op::LinearCrossEntropy{in.normal({4, 9}, 20), in.normal({21, 9}, 3), in.indices({4}, 0, 21),
                                  in.empty({4}),         in.slot({4, 9}),       in.slot({21, 9})};
  }));
  return cases;
}

}  // namespace owlet::test
