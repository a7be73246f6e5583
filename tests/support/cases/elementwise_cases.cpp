#include <cmath>

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

void set_step(op::AdamWStep& op, int64_t step) {
  op.learning_rate = 1e-2f;
  op.weight_decay = 0.1f;
  op.step = step;
  op.gradient_scale = 0.7f;
  op.seed = 0x123456789abcdefu;
  op.stream = 0xfedcba9876543210u;
}

Tensor draw_lower_bits(CaseInputs& in, int64_t N) {
  const Tensor bits = make_host_tensor({N}, DType::u16);
  for (uint16_t& each : bits.span<uint16_t>()) each = static_cast<uint16_t>(in.random().next_below(0x10000));
  return bits;
}

op::AdamW adamw_case(CaseInputs& in, int64_t N, int64_t step, bool is_split) {
  op::AdamW op;
  op.weight = in.normal({N});
  op.gradient = in.normal({N}, 0.1);
  op.m = in.normal({N}, 0.01);
  op.v = in.uniform({N}, 0, 0.01);
  if (is_split) op.lower_bits = draw_lower_bits(in, N);
  set_step(op, step);
  return op;
}

/// Gradients over many decades, so that codes of all sizes appear; every seventh is 0, and so are the last blocks.
op::AdamW8bit adamw8bit_case(CaseInputs& in, int64_t N, int64_t step, bool is_split) {
  op::AdamW8bit op;
  const int64_t num_blocks = (N + 255) / 256;
  op.weight = in.normal({N});
  op.gradient = in.normal({N}, 0.1);
  for (int64_t i = 0; i < N; ++i) {
    double& value = op.gradient.data<double>()[i];
    value *= i % 7 == 0 || i > 700 ? 0.0 : std::exp2(-static_cast<double>(in.random().next_below(20)));
  }
  op.m = make_host_tensor({N}, DType::i8);
  op.v = make_host_tensor({N}, DType::u8);
  for (int64_t i = 0; i < N && step > 1; ++i) {
    op.m.data<int8_t>()[i] = static_cast<int8_t>(static_cast<int>(in.random().next_below(255)) - 127);
    op.v.data<uint8_t>()[i] = static_cast<uint8_t>(in.random().next_below(256));
  }
  op.m_scale = in.uniform({num_blocks}, 0, 0.02);
  op.v_scale = in.uniform({num_blocks}, 0, 0.2);
  if (is_split) op.lower_bits = draw_lower_bits(in, N);
  set_step(op, step);
  return op;
}

/// Whole weights of both types, and f32 ones in two halves.
void add_adamw_cases(std::vector<OpCase>& cases, int64_t N) {
  const std::string variant = std::to_string(N);
  cases.push_back(make_case<op::AdamW>(variant, [=](CaseInputs& in) { return adamw_case(in, N, 1, false); }));
  cases.push_back(
      make_case<op::AdamW>(variant + "split", [=](CaseInputs& in) { return adamw_case(in, N, 1000, true); }));
  cases.back().types = {{"weight", DType::bf16}};
  cases.push_back(
      make_case<op::AdamW8bit>(variant + "first", [=](CaseInputs& in) { return adamw8bit_case(in, N, 1, false); }));
  cases.push_back(make_case<op::AdamW8bit>(variant, [=](CaseInputs& in) { return adamw8bit_case(in, N, 50, false); }));
  cases.push_back(
      make_case<op::AdamW8bit>(variant + "split", [=](CaseInputs& in) { return adamw8bit_case(in, N, 1000, true); }));
  cases.back().types = {{"weight", DType::bf16}};
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
  add_adamw_cases(cases, N);
  for (DType target : {DType::f32, DType::bf16}) {
    OpCase cast = make_case<op::Cast>(fmt::format("{}->{}", N, to_string(target)), [=](CaseInputs& in) {
      return op::Cast{in.normal({N}), in.empty({N})};
    });
    cast.types = {{"y", target}};
    cases.push_back(cast);
  }
  cases.push_back(make_case<op::SplitWeight>(variant, [=](CaseInputs& in) {
    return op::SplitWeight{in.normal({N}), in.empty({N}), make_host_tensor({N}, DType::u16)};
  }));
  cases.back().types = {{"x", DType::f32}, {"weight", DType::bf16}};
  cases.push_back(make_case<op::Fill>(variant, [=](CaseInputs& in) { return op::Fill{in.empty({N}), 1.7f}; }));
  for (DType integer : {DType::i32, DType::i8, DType::u8}) {
    cases.push_back(make_case<op::Fill>(variant + std::string(to_string(integer)), [=](CaseInputs&) {
      return op::Fill{make_host_tensor({N}, integer), integer == DType::u8 ? 200.0f : -3.0f};
    }));
    cases.back().types = {{"y", integer}};
  }
  cases.push_back(make_case<op::FillNormal>(variant, [=](CaseInputs& in) {
    return op::FillNormal{in.empty({N}), 0.5f, 0.02f, 7, 11};
  }));
  cases.push_back(make_case<op::FillNormal>(variant + "standard", [=](CaseInputs& in) {
    return op::FillNormal{in.empty({N}), 0.0f, 1.0f, uint64_t{3} << 40, ~uint64_t{0}};
  }));
  cases.push_back(make_case<op::SquaredNorm>(variant, [=](CaseInputs& in) {
    return op::SquaredNorm{in.normal({N}), in.empty({1})};
  }));
}

}  // namespace

std::vector<OpCase> elementwise_cases() {
  std::vector<OpCase> cases;
  std::vector<int64_t> lengths = lengths_around_vectors();
  lengths.push_back(20011);                                           // several ranges of work
  for (int64_t N : {255, 256, 257, 1000}) add_adamw_cases(cases, N);  // around blocks of moments
  for (int64_t N : lengths) {
    add_activation_cases(cases, N);
    add_simple_cases(cases, N);
  }
  return cases;
}

}  // namespace owlet::test
