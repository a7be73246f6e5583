#include <cmath>
#include <limits>

#include "backends/reference/reference_backend.hpp"
#include "tests/support/op_case.hpp"

namespace owlet::test {

namespace {

struct Sizes {
  int64_t B, T, H, K, D, window;
  bool has_documents;

  std::string variant() const {
    return fmt::format("B{}T{}H{}K{}D{}{}{}", B, T, H, K, D, window > 0 ? fmt::format("window{}", window) : "",
                       has_documents ? "+documents" : "");
  }
  float scale() const { return static_cast<float>(1 / std::sqrt(static_cast<double>(D))); }
};

/// Documents of random lengths in each row.
Tensor draw_documents(CaseInputs& in, const Sizes& n) {
  if (!n.has_documents) return {};
  const Tensor starts = make_host_tensor({n.B, n.T}, DType::i32);
  for (int64_t b = 0; b < n.B; ++b) {
    int64_t start = 0;
    for (int64_t t = 0; t < n.T; ++t) {
      if (in.random().next_below(5) == 0) start = t;
      starts.data<int32_t>()[b * n.T + t] = static_cast<int32_t>(start);
    }
  }
  return starts;
}

op::Attention attention_case(CaseInputs& in, const Sizes& n) {
  const Tensor q = in.normal({n.B, n.T, n.H, n.D}), k = in.normal({n.B, n.T, n.K, n.D});
  const Tensor v = in.normal({n.B, n.T, n.K, n.D}), y = in.empty(q.shape()), lse = in.empty({n.B, n.H, n.T});
  return {q, k, v, y, lse, draw_documents(in, n), {}, n.scale(), n.window};
}

op::PlainAttention plain_case(CaseInputs& in, const Sizes& n) {
  const op::Attention flash = attention_case(in, n);
  const Tensor probabilities = in.empty({n.B, n.H, n.T, n.T});
  return {flash.q, flash.k, flash.v, flash.y, probabilities, flash.document_starts, n.scale(), n.window};
}

op::AttentionGrad attention_grad_case(CaseInputs& in, const Sizes& n) {
  const op::Attention forward = attention_case(in, n);
  make_reference_backend()->run(forward);
  const Tensor &q = forward.q, &k = forward.k, &v = forward.v;
  op::AttentionGrad op{in.normal(q.shape()),
                       q,
                       k,
                       v,
                       forward.y,
                       forward.lse,
                       forward.document_starts,
                       n.scale(),
                       n.window,
                       in.slot(q.shape()),
                       in.slot(k.shape()),
                       in.slot(v.shape())};
  return op;
}

op::PlainAttentionGrad plain_grad_case(CaseInputs& in, const Sizes& n) {
  const op::PlainAttention forward = plain_case(in, n);
  make_reference_backend()->run(forward);
  const Tensor &q = forward.q, &k = forward.k, &v = forward.v;
  op::PlainAttentionGrad op{
      in.normal(q.shape()), q, k, v, forward.probabilities, n.scale(), in.slot(q.shape()), in.slot(k.shape()),
      in.slot(v.shape())};
  return op;
}

/// Attention over a cache of S entries per row; entries that are not there yet hold NaN, which must not be read.
op::Attention cached_case(CaseInputs& in, const Sizes& n, int64_t S) {
  const Tensor q = in.normal({n.B, n.T, n.H, n.D}), k = in.normal({n.B, S, n.K, n.D}),
               v = in.normal({n.B, S, n.K, n.D});
  const Tensor lengths = in.indices({n.B}, n.T, S + 1), y = in.empty(q.shape()), lse = in.empty({n.B, n.H, n.T});
  for (int64_t b = 0; b < n.B; ++b) {
    for (int64_t i = lengths.data<int32_t>()[b] * n.K * n.D; i < S * n.K * n.D; ++i) {
      k.data<double>()[b * S * n.K * n.D + i] = std::numeric_limits<double>::quiet_NaN();
      v.data<double>()[b * S * n.K * n.D + i] = std::numeric_limits<double>::quiet_NaN();
    }
  }
  return {q, k, v, y, lse, draw_documents(in, n), lengths, n.scale(), n.window};
}

}  // namespace

std::vector<OpCase> attention_cases() {
  std::vector<OpCase> cases;
  const std::vector<Sizes> all_sizes = {
      {1, 1, 1, 1, 1, 0, false},    {2, 3, 1, 1, 2, 0, false},    {1, 2, 2, 1, 3, 0, false},
      {2, 5, 4, 2, 7, 0, false},    {1, 15, 2, 2, 8, 0, false},   {1, 16, 2, 1, 15, 0, true},
      {2, 17, 3, 1, 16, 4, false},  {1, 31, 4, 4, 17, 0, false},  {1, 33, 2, 2, 31, 1, true},
      {2, 40, 4, 2, 32, 9, true},   {1, 65, 2, 1, 33, 0, false},  {1, 70, 6, 2, 64, 33, false},
      {1, 150, 2, 1, 20, 0, false}, {2, 130, 2, 2, 16, 70, true}, {1, 9, 1, 1, 80, 0, false}};
  for (const Sizes& n : all_sizes) {
    const std::string variant = n.variant();
    cases.push_back(make_case<op::Attention>(variant, [n](CaseInputs& in) { return attention_case(in, n); }));
    cases.push_back(make_case<op::AttentionGrad>(variant, [n](CaseInputs& in) { return attention_grad_case(in, n); }));
    if (n.T > 100 || n.D > 40) continue;
    cases.push_back(make_case<op::PlainAttention>(variant, [n](CaseInputs& in) { return plain_case(in, n); }));
    cases.push_back(make_case<op::PlainAttentionGrad>(variant, [n](CaseInputs& in) { return plain_grad_case(in, n); }));
  }
  const auto add_cached = [&](const Sizes& n, int64_t S) {
    cases.push_back(make_case<op::Attention>(fmt::format("{}cache{}", n.variant(), S),
                                             [=](CaseInputs& in) { return cached_case(in, n, S); }));
  };
  add_cached({1, 1, 1, 1, 3, 0, false}, 1);
  add_cached({3, 1, 4, 2, 16, 0, false}, 37);
  add_cached({2, 1, 4, 4, 33, 6, false}, 80);
  add_cached({3, 5, 2, 1, 24, 0, false}, 50);
  add_cached({2, 20, 2, 2, 8, 7, false}, 20);
  add_cached({2, 1, 2, 1, 16, 0, false}, 300);
  return cases;
}

}  // namespace owlet::test
