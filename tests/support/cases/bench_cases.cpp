// Sizes of a small model: 8 rows of 256 tokens, width 512, 8 heads of 64, feed-forward 1536, vocabulary 8192.
#include <cmath>

#include "tests/support/op_case.hpp"

namespace owlet::test {

namespace {

constexpr int64_t B = 8, T = 256, N = B * T, C = 512, H = 8, D = 64, F = 1536, V = 8192;

template <typename Op>
void add_linear(std::vector<OpCase>& cases, int64_t rows, int64_t inputs, int64_t outputs) {
  cases.push_back(make_case<Op>(fmt::format("N{}K{}M{}", rows, inputs, outputs), [=](CaseInputs& in) -> Op {
    if constexpr (std::is_same_v<Op, op::Linear>) {
      return {in.normal({rows, inputs}), in.normal({outputs, inputs}), {}, in.empty({rows, outputs})};
    } else if constexpr (std::is_same_v<Op, op::LinearInputGrad>) {
      return {in.normal({rows, outputs}), in.normal({outputs, inputs}), in.slot({rows, inputs})};
    } else {
      return {in.normal({rows, outputs}), in.normal({rows, inputs}), in.slot({outputs, inputs}), in.slot({outputs})};
    }
  }));
}

void add_norms(std::vector<OpCase>& cases) {
  const std::string variant = fmt::format("N{}C{}", N, C);
  cases.push_back(make_case<op::RmsNorm>(variant, [](CaseInputs& in) {
    return op::RmsNorm{in.normal({N, C}), in.normal({C}), in.empty({N, C}), in.empty({N})};
  }));
  cases.push_back(make_case<op::RmsNormGrad>(variant, [](CaseInputs& in) {
    return op::RmsNormGrad{in.normal({N, C}),       in.normal({N, C}), in.normal({C}),
                           in.uniform({N}, 0.5, 2), in.slot({N, C}),   in.slot({C})};
  }));
  cases.push_back(make_case<op::LayerNorm>(variant, [](CaseInputs& in) {
    return op::LayerNorm{in.normal({N, C}), in.normal({C}), in.normal({C}),
                         in.empty({N, C}),  in.empty({N}),  in.empty({N})};
  }));
  cases.push_back(make_case<op::LayerNormGrad>(variant, [](CaseInputs& in) {
    return op::LayerNormGrad{in.normal({N, C}),       in.normal({N, C}), in.normal({C}), in.normal({N}),
                             in.uniform({N}, 0.5, 2), in.slot({N, C}),   in.slot({C}),   in.slot({C})};
  }));
}

void add_attention(std::vector<OpCase>& cases) {
  const float scale = 1 / std::sqrt(static_cast<float>(D));
  const Shape q{B, T, H, D}, k{B, T, H / 2, D};
  const std::string variant = fmt::format("B{}T{}H{}K{}D{}", B, T, H, H / 2, D);
  cases.push_back(make_case<op::Attention>(variant, [=](CaseInputs& in) {
    return op::Attention{in.normal(q), in.normal(k), in.normal(k), in.empty(q), in.empty({B, H, T}), {}, {}, scale};
  }));
  // lse so large that the probabilities are small, as real ones are.
  cases.push_back(make_case<op::AttentionGrad>(variant, [=](CaseInputs& in) {
    op::AttentionGrad op;
    op.dy = in.normal(q), op.q = in.normal(q), op.k = in.normal(k), op.v = in.normal(k), op.y = in.normal(q);
    op.lse = in.uniform({B, H, T}, 5, 6);
    op.scale = scale;
    op.dq = in.slot(q), op.dk = in.slot(k), op.dv = in.slot(k);
    return op;
  }));
  cases.push_back(make_case<op::PlainAttention>(variant, [=](CaseInputs& in) {
    return op::PlainAttention{in.normal(q), in.normal(k), in.normal(k), in.empty(q), in.empty({B, H, T, T}), {}, scale};
  }));
  cases.push_back(make_case<op::PlainAttentionGrad>(variant, [=](CaseInputs& in) {
    return op::PlainAttentionGrad{
        in.normal(q), in.normal(q), in.normal(k), in.normal(k), in.uniform({B, H, T, T}, 0, 1.0 / T),
        scale,        in.slot(q),   in.slot(k),   in.slot(k)};
  }));
  cases.push_back(make_case<op::Attention>("one_token_of_1024", [=](CaseInputs& in) {
    const Tensor lengths = in.indices({1}, 1024, 1025);
    return op::Attention{in.normal({1, 1, H, D}),
                         in.normal({1, 1024, H / 2, D}),
                         in.normal({1, 1024, H / 2, D}),
                         in.empty({1, 1, H, D}),
                         in.empty({1, H, 1}),
                         {},
                         lengths,
                         scale};
  }));
  cases.push_back(make_case<op::CacheAppend>("B8T1", [=](CaseInputs& in) {
    return op::CacheAppend{in.normal({B, 1, H, D}), in.indices({B}, 1, 1025), in.normal({B, 1024, H, D})};
  }));
  cases.push_back(make_case<op::Rope>(fmt::format("B{}T{}H{}D{}", B, T, H, D), [=](CaseInputs& in) {
    return op::Rope{in.normal(q), in.indices({B, T}, 0, T), in.uniform({T, D / 2, 2}, -1, 1), in.empty(q)};
  }));
}

void add_elementwise(std::vector<OpCase>& cases) {
  const Shape wide{N, F}, narrow{N, C};
  const std::string variant = fmt::format("{}x{}", N, F);
  cases.push_back(make_case<op::SwiGlu>(variant, [=](CaseInputs& in) {
    return op::SwiGlu{in.normal(wide), in.normal(wide), in.empty(wide)};
  }));
  cases.push_back(make_case<op::SwiGluGrad>(variant, [=](CaseInputs& in) {
    return op::SwiGluGrad{in.normal(wide), in.normal(wide), in.normal(wide), in.slot(wide), in.slot(wide)};
  }));
  for (GeluKind kind : {GeluKind::exact, GeluKind::tanh}) {
    const std::string name = variant + (kind == GeluKind::exact ? "exact" : "tanh");
    cases.push_back(make_case<op::Gelu>(name, [=](CaseInputs& in) {
      return op::Gelu{in.normal(wide), in.empty(wide), kind};
    }));
    cases.push_back(make_case<op::GeluGrad>(name, [=](CaseInputs& in) {
      return op::GeluGrad{in.normal(wide), in.normal(wide), in.slot(wide), kind};
    }));
  }
  cases.push_back(make_case<op::Add>(fmt::format("{}x{}", N, C), [=](CaseInputs& in) {
    return op::Add{in.normal(narrow), in.normal(narrow), in.empty(narrow)};
  }));
  cases.push_back(make_case<op::AdamW>(std::to_string(V * C), [](CaseInputs& in) {
    op::AdamW op;
    op.weight = in.normal({V, C}), op.gradient = in.normal({V, C});
    op.m = in.normal({V, C}), op.v = in.uniform({V, C}, 0, 1);
    op.lower_bits = make_host_tensor({V, C}, DType::u16);
    op.learning_rate = 1e-3f;
    return op;
  }));
  cases.back().types = {{"weight", DType::bf16}};
  cases.push_back(make_case<op::AdamW>("dithered", [](CaseInputs& in) {
    op::AdamW op;
    op.weight = in.normal({V, C}), op.gradient = in.normal({V, C});
    op.m = in.normal({V, C}), op.v = in.uniform({V, C}, 0, 1);
    op.learning_rate = 1e-3f;
    return op;
  }));
  cases.push_back(make_case<op::AdamW8bit>("", [](CaseInputs& in) {
    op::AdamW8bit op;
    op.weight = in.normal({V, C}), op.gradient = in.normal({V, C});
    op.m = make_host_tensor({V, C}, DType::i8), op.v = make_host_tensor({V, C}, DType::u8);
    op.m_scale = in.uniform({V * C / 256}, 0, 1), op.v_scale = in.uniform({V * C / 256}, 0, 1);
    op.learning_rate = 1e-3f;
    return op;
  }));
  OpCase cast = make_case<op::Cast>("->bf16", [](CaseInputs& in) {
    return op::Cast{in.normal({V, C}), in.empty({V, C})};
  });
  cast.types = {{"y", DType::bf16}};
  cases.push_back(cast);
  cases.push_back(make_case<op::Fill>("", [](CaseInputs& in) { return op::Fill{in.empty({V, C})}; }));
  cases.push_back(make_case<op::FillNormal>("", [](CaseInputs& in) { return op::FillNormal{in.empty({V, C})}; }));
  cases.push_back(make_case<op::SquaredNorm>("", [](CaseInputs& in) {
    return op::SquaredNorm{in.normal({V, C}), in.empty({1})};
  }));
}

}  // namespace

std::vector<OpCase> bench_cases() {
  std::vector<OpCase> cases;
  cases.push_back(make_case<op::Embedding>("", [](CaseInputs& in) {
    return op::Embedding{in.indices({N}, 0, V), in.normal({V, C}), in.empty({N, C})};
  }));
  cases.push_back(make_case<op::EmbeddingGrad>("", [](CaseInputs& in) {
    return op::EmbeddingGrad{in.normal({N, C}), in.indices({N}, 0, V), in.slot({V, C})};
  }));
  add_norms(cases);
  for (const auto& [inputs, outputs] : {std::pair{C, C}, {C, F}, {F, C}}) {
    add_linear<op::Linear>(cases, N, inputs, outputs);
    add_linear<op::LinearInputGrad>(cases, N, inputs, outputs);
    add_linear<op::LinearWeightGrad>(cases, N, inputs, outputs);
  }
  add_linear<op::Linear>(cases, 1, C, F);
  add_attention(cases);
  add_elementwise(cases);
  cases.push_back(make_case<op::LinearCrossEntropy>(fmt::format("N{}C{}V{}", N, C, V), [](CaseInputs& in) {
    return op::LinearCrossEntropy{in.normal({N, C}), in.normal({V, C}, 0.05), in.indices({N}, 0, V),
                                  in.empty({N}),     in.slot({N, C}),         in.slot({V, C})};
  }));
  return cases;
}

}  // namespace owlet::test
