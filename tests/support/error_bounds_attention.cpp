// Error bounds of attention.
//
// A score is wrong by e = gamma(D + 2) |scale| sum |q k|. Kernels subtract a running or final maximum, so with A the
// largest |score| of a query each exponential is wrong relatively by 2 e + 2 A u + its own error. Working in blocks of
// at least kBlockKeys keys, sums are rescaled once per block, each time by one more such exponential. Exponentials of
// bf16 operands may come from a polynomial made for bf16 results.
#include <cmath>

#include "backends/reference/attention_layout.hpp"
#include "tests/support/error_bounds.hpp"

namespace owlet::test {

using reference::AttentionLayout;
using reference::f64;
using reference::VisibleKeys;

namespace {

constexpr double kBlockKeys = 16;
constexpr double kBf16Exponential = 3e-6;

double sum_of_products(const double* a, const double* b, int64_t size, bool absolute) {
  double sum = 0;
  for (int64_t i = 0; i < size; ++i) sum += absolute ? std::abs(a[i] * b[i]) : a[i] * b[i];
  return sum;
}

/// Scores of one query, the largest magnitude among them and the bound of their errors.
struct Scores {
  std::vector<double> values;
  double largest = 0, error = 0;

  template <typename Op>
  Scores(const Op& op, const AttentionLayout& layout, VisibleKeys keys, int64_t b, int64_t h, int64_t t) {
    const double* q = f64(op.q) + layout.query(b, t, h);
    for (int64_t s = keys.first; s <= keys.last; ++s) {
      const double* k = f64(op.k) + layout.key(b, s, h);
      values.push_back(double{op.scale} * sum_of_products(q, k, layout.D, false));
      largest = std::max(largest, std::abs(values.back()));
      const double magnitude = std::abs(double{op.scale}) * sum_of_products(q, k, layout.D, true);
      error = std::max(error, gamma(layout.D + 2) * magnitude);
    }
  }
  double log_sum_exp() const {
    const double top = *std::max_element(values.begin(), values.end());
    double sum = 0;
    for (double value : values) sum += std::exp(value - top);
    return top + std::log(sum);
  }
  /// Relative error of a sum of exponentials; a quotient by such a sum has at most twice this.
  double relative_error() const {
    const double n = static_cast<double>(values.size()), blocks = std::ceil(n / kBlockKeys);
    return 2 * error + (1 + blocks) * (2 * largest + kExpRoundings + 2) * kF32Roundoff + gamma(n + 4);
  }
};

struct ForwardErrors {
  std::vector<double> y, lse, probabilities;
};

template <typename Op>
ForwardErrors forward_errors(const Op& op, const Tensor& kv_lengths, DType activation) {
  const AttentionLayout layout(op.q, op.k);
  const int64_t num_queries = layout.B * layout.H * layout.T;
  ForwardErrors errors{no_error(op.y), no_error(num_queries), no_error(num_queries * layout.S)};
  layout.for_each_query([&](int64_t b, int64_t h, int64_t t) {
    const VisibleKeys keys =
        reference::visible_keys(op.document_starts, kv_lengths, op.window, b, t, layout.T, layout.S);
    const Scores scores(op, layout, keys, b, h, t);
    const double lse = scores.log_sum_exp(),
                 relative = scores.relative_error() + (activation == DType::bf16 ? kBf16Exponential : 0);
    const int64_t row = layout.statistic(b, h, t);
    at(errors.lse, row) = scores.error + relative + 2 * kF32Roundoff * (std::abs(lse) + scores.largest);
    for (int64_t s = keys.first; s <= keys.last; ++s) {
      const double p = std::exp(scores.values[static_cast<size_t>(s - keys.first)] - lse);
      at(errors.probabilities, row * layout.S + s) = p * 2 * relative;
      for (int64_t d = 0; d < layout.D; ++d) {
        at(errors.y, layout.query(b, t, h) + d) +=
            p * std::abs(f64(op.v)[layout.key(b, s, h) + d]) * (2 * relative + 2 * unit_roundoff(activation));
      }
    }
  });
  return errors;
}

/// Errors of dq, dk, dv, filled pair by pair.
struct BackwardErrors {
  std::vector<double> dq, dk, dv;

  template <typename Op>
  explicit BackwardErrors(const Op& op) : dq(no_error(op.q)), dk(no_error(op.k)), dv(no_error(op.k)) {}

  /// One pair's share: probability p wrong by p_error, score gradient dS wrong by dS_error.
  template <typename Op>
  void add(const Op& op, const AttentionLayout& layout, int64_t query, int64_t key, double p, double p_error, double dS,
           double dS_error) {
    const double scale = std::abs(double{op.scale});
    const int64_t num_queries = layout.T * (layout.H / layout.K);
    for (int64_t d = 0; d < layout.D; ++d) {
      at(dq, query + d) += scale * std::abs(f64(op.k)[key + d]) * (dS_error + gamma(layout.S + 1) * std::abs(dS));
      at(dk, key + d) += scale * std::abs(f64(op.q)[query + d]) * (dS_error + gamma(num_queries + 1) * std::abs(dS));
      at(dv, key + d) += std::abs(f64(op.dy)[query + d]) * (p_error + gamma(num_queries) * p);
    }
  }
  ErrorBounds bounds(const AttentionLayout& layout) const {
    const double num_queries = static_cast<double>(layout.T * (layout.H / layout.K));
    return {{"dq", {dq, static_cast<double>(layout.S)}}, {"dk", {dk, num_queries}}, {"dv", {dv, num_queries}}};
  }
};

}  // namespace

ErrorBounds error_bounds(const op::Attention& op, DType activation) {
  const ForwardErrors errors = forward_errors(op, op.kv_lengths, activation);
  return {{"y", {errors.y}}, {"lse", {errors.lse}}};
}

ErrorBounds error_bounds(const op::PlainAttention& op, DType activation) {
  const ForwardErrors errors = forward_errors(op, {}, activation);
  return {{"y", {errors.y}}, {"probabilities", {errors.probabilities}}};
}

// P = exp(score - lse) with lse given; delta and <dy, v> are products of D terms; dS = P (<dy, v> - delta).
ErrorBounds error_bounds(const op::AttentionGrad& op, DType activation) {
  const AttentionLayout layout(op.q, op.k);
  const double u = kF32Roundoff, operand = unit_roundoff(activation);
  BackwardErrors errors(op);
  layout.for_each_query([&](int64_t b, int64_t h, int64_t t) {
    const VisibleKeys keys = reference::visible_keys(op.document_starts, {}, op.window, b, t, layout.T, layout.S);
    const Scores scores(op, layout, keys, b, h, t);
    const int64_t query = layout.query(b, t, h);
    const double *dy = f64(op.dy) + query, *y = f64(op.y) + query;
    const double lse = f64(op.lse)[layout.statistic(b, h, t)];
    const double delta = sum_of_products(dy, y, layout.D, false), delta_size = sum_of_products(dy, y, layout.D, true);
    for (int64_t s = keys.first; s <= keys.last; ++s) {
      const int64_t key = layout.key(b, s, h);
      const double p = std::exp(scores.values[static_cast<size_t>(s - keys.first)] - lse);
      const double relative = scores.error + (scores.largest + std::abs(lse) + kExpRoundings) * u;
      const double product = sum_of_products(dy, f64(op.v) + key, layout.D, false) - delta;
      const double product_size = sum_of_products(dy, f64(op.v) + key, layout.D, true) + delta_size;
      const double dS_error =
          p * ((relative + operand + gamma(3.0)) * std::abs(product) + gamma(layout.D + 1) * product_size);
      errors.add(op, layout, query, key, p, p * (relative + operand), p * product, dS_error);
    }
  });
  return errors.bounds(layout);
}

// delta = sum_s P_s <dy, v_s> here: a sum of S terms more. The products <dy, v> may be held in the activation type.
ErrorBounds error_bounds(const op::PlainAttentionGrad& op, DType activation) {
  const AttentionLayout layout(op.q, op.k);
  const double operand = unit_roundoff(activation);
  BackwardErrors errors(op);
  layout.for_each_query([&](int64_t b, int64_t h, int64_t t) {
    const int64_t query = layout.query(b, t, h);
    const double* dy = f64(op.dy) + query;
    const double* p = f64(op.probabilities) + layout.statistic(b, h, t) * layout.S;
    double delta = 0, delta_size = 0;
    for (int64_t s = 0; s <= t; ++s) {
      delta += p[s] * sum_of_products(dy, f64(op.v) + layout.key(b, s, h), layout.D, false);
      delta_size += p[s] * sum_of_products(dy, f64(op.v) + layout.key(b, s, h), layout.D, true);
    }
    for (int64_t s = 0; s <= t; ++s) {
      const int64_t key = layout.key(b, s, h);
      const double product = sum_of_products(dy, f64(op.v) + key, layout.D, false) - delta;
      const double product_size = sum_of_products(dy, f64(op.v) + key, layout.D, true) + delta_size;
      const double dS_error =
          p[s] * (operand * std::abs(product) + operand * product_size + gamma(layout.D + layout.S + 3) * product_size);
      errors.add(op, layout, query, key, p[s], 0, p[s] * product, dS_error);
    }
  });
  return errors.bounds(layout);
}

}  // namespace owlet::test
