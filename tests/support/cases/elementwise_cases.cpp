#include "tests/support/op_case.hpp"

namespace owlet::test {

namespace {

/// Most elements as activations are, some far out, where exponentials overflow or vanish.
Tensor draw_activations(CaseInputs& in, int64_t N) {
  const Tensor x = in.normal({N}, 2);
  for (double& value : x.span<double>()) {
    if (in.random().next_below(8) == 0) value *= 20;
  }
  return x;
}

op::AdamW adamw_case(CaseInputs& in, int64_t N, int64_t step, bool has_copy) {
  op::AdamW op;
  op.weight = in.normal({N});
  op.gradient = in.normal({N}, 0.1);
  op.m = in.normal({N}, 0.01);
  op.v = in.uniform({N}, 0, 0.01);
  if (has_copy) op.compute_copy = make_host_tensor({N}, DType::bf16);
  op.learning_rate = 1e-2f;
  op.weight_decay = 0.1f;
  op.step = step;
  op.gradient_scale = 0.7f;
  return op;
}

void add_activation_cases(std::vector<OpCase>& cases, int64_t N) {
  const std::string variant = std::to_string(N);
  cases.push_back(make_case<op::SwiGlu>(variant, [=](CaseInputs& in) {
    return op::SwiGlu{draw_activations(in, N), in.normal({N}), in.empty({N})};
  }));
  cases.push_back(make_case<op::SwiGluGrad>(variant, [=](CaseInputs& in) {
    return op::SwiGluGrad{in.normal({N}), draw_activations(in, N), in.normal({N}), in.slot({N}), in.slot({N})};
  }));
  for (GeluKind kind : {GeluKind::exact, GeluKind::tanh}) {
    const std::string name = variant + (kind == GeluKind::exact ? "exact" : "tanh");
    cases.push_back(make_case<op::Gelu>(name, [=](CaseInputs& in) {
      return op::Gelu{draw_activations(in, N), in.empty({N}), kind};
    }));
    cases.push_back(make_case<op::GeluGrad>(name, [=](CaseInputs& in) {
      return op::GeluGrad{in.normal({N}), draw_activations(in, N), in.slot({N}), kind};
    }));
  }
}

void add_simple_cases(std::vector<OpCase>& cases, int64_t N) {
  const std::string variant = std::to_string(N);
  OpCase add = make_case<op::Add>(variant, [=](CaseInputs& in) {
    return op::Add{in.normal({N}), in.normal({N}), in.empty({N})};
  });
  cases.push_back(add);
  for (const char* input : {"a", "b"}) {
    add.name = fmt::format("add/{}in_place_of_{}", N, input);
    add.in_place = {{"y", input}};
    cases.push_back(add);
  }
  cases.push_back(make_case<op::AdamW>(variant, [=](CaseInputs& in) { return adamw_case(in, N, 1, false); }));
  cases.push_back(
      make_case<op::AdamW>(variant + "+copy", [=](CaseInputs& in) { return adamw_case(in, N, 1000, true); }));
  for (DType target : {DType::f32, DType::bf16}) {
    OpCase cast = make_case<op::Cast>(fmt::format("{}->{}", N, to_string(target)), [=](CaseInputs& in) {
      return op::Cast{in.normal({N}), in.empty({N})};
    });
    cast.types = {{"y", target}};
    cases.push_back(cast);
  }
  cases.push_back(make_case<op::Fill>(variant, [=](CaseInputs& in) { return op::Fill{in.empty({N}), 1.7f}; }));
  OpCase fill_integers = make_case<op::Fill>(variant + "i32", [=](CaseInputs&) {
    return op::Fill{make_host_tensor({N}, DType::i32), -3};
  });
  fill_integers.types = {{"y", DType::i32}};
  cases.push_back(fill_integers);
  cases.push_back(make_case<op::FillNormal>(variant, [=](CaseInputs& in) {
    return op::FillNormal{in.empty({N}), 0.5f, 0.02f, 7, 11};
  }));
  cases.push_back(make_case<op::SquaredNorm>(variant, [=](CaseInputs& in) {
    return op::SquaredNorm{in.normal({N}), in.empty({1})};
  }));
}

}  // namespace

std::vector<OpCase> elementwise_cases() {
  std::vector<OpCase> cases;
  std::vector<int64_t> lengths = lengths_around_vectors();
  lengths.push_back(20011);  // several ranges of work
  for (int64_t N : lengths) {
    add_activation_cases(cases, N);
    add_simple_cases(cases, N);
  }
  return cases;
}

}  // namespace owlet::test
