// Attention and PlainAttention with their gradients.
#include <cmath>
#include <vector>

#include "backends/reference/attention_layout.hpp"

namespace owlet::reference {

namespace {

double dot(const double* a, const double* b, int64_t size) {
  double sum = 0;
  for (int64_t i = 0; i < size; ++i) sum += a[i] * b[i];
  return sum;
}

/// Probabilities of the visible keys of one query and the log of their sum; NaN where a score is not finite.
template <typename Op>
double softmax_row(const Op& op, const AttentionLayout& at, VisibleKeys keys, int64_t b, int64_t h, int64_t t,
                   std::vector<double>& probabilities) {
  probabilities.clear();
  double largest = -INFINITY;
  for (int64_t s = keys.first; s <= keys.last; ++s) {
    const double score = double{op.scale} * dot(f64(op.q) + at.query(b, t, h), f64(op.k) + at.key(b, s, h), at.D);
    probabilities.push_back(score);
    largest = std::max(largest, score);
  }
  double sum = 0;
  for (double& p : probabilities) sum += p = std::exp(p - largest);
  for (double& p : probabilities) p /= sum;
  return largest + std::log(sum);
}

template <typename Op>
void add_values(const Op& op, const AttentionLayout& at, VisibleKeys keys, int64_t b, int64_t h, int64_t t,
                const std::vector<double>& probabilities) {
  double* y = f64(op.y) + at.query(b, t, h);
  std::fill_n(y, at.D, 0.0);
  for (int64_t s = keys.first; s <= keys.last; ++s) {
    const double* v = f64(op.v) + at.key(b, s, h);
    const double p = probabilities[static_cast<size_t>(s - keys.first)];
    for (int64_t d = 0; d < at.D; ++d) y[d] += p * v[d];
  }
}

/// dq, dk, dv of one (query, key) pair, from its probability p and the gradient dS of its score.
template <typename Op>
void add_pair_gradients(const Op& op, const AttentionLayout& at, int64_t query, int64_t key, double p, double dS,
                        double* dq, double* dk, double* dv) {
  for (int64_t d = 0; d < at.D; ++d) {
    if (dq) dq[query + d] += double{op.scale} * dS * f64(op.k)[key + d];
    if (dk) dk[key + d] += double{op.scale} * dS * f64(op.q)[query + d];
    if (dv) dv[key + d] += p * f64(op.dy)[query + d];
  }
}

}  // namespace

void run(const op::Attention& op) {
  const AttentionLayout at(op.q, op.k);
  std::vector<double> probabilities;
  at.for_each_query([&](int64_t b, int64_t h, int64_t t) {
    const VisibleKeys keys = visible_keys(op.document_starts, op.kv_lengths, op.window, b, t, at.T, at.S);
    f64(op.lse)[at.statistic(b, h, t)] = softmax_row(op, at, keys, b, h, t, probabilities);
    add_values(op, at, keys, b, h, t, probabilities);
  });
}

void run(const op::AttentionGrad& op) {
  const AttentionLayout at(op.q, op.k);
  double *dq = begin_slot(op.dq), *dk = begin_slot(op.dk), *dv = begin_slot(op.dv);
  at.for_each_query([&](int64_t b, int64_t h, int64_t t) {
    const VisibleKeys keys = visible_keys(op.document_starts, {}, op.window, b, t, at.T, at.S);
    const int64_t query = at.query(b, t, h);
    const double lse = f64(op.lse)[at.statistic(b, h, t)];
    const double delta = dot(f64(op.dy) + query, f64(op.y) + query, at.D);
    for (int64_t s = keys.first; s <= keys.last; ++s) {
      const int64_t key = at.key(b, s, h);
      const double score = double{op.scale} * dot(f64(op.q) + query, f64(op.k) + key, at.D);
      const double p = std::exp(score - lse);
      const double dS = p * (dot(f64(op.dy) + query, f64(op.v) + key, at.D) - delta);
      add_pair_gradients(op, at, query, key, p, dS, dq, dk, dv);
    }
  });
}

void run(const op::PlainAttention& op) {
  const AttentionLayout at(op.q, op.k);
  std::vector<double> probabilities;
  std::fill_n(f64(op.probabilities), op.probabilities.num_elements(), 0.0);
  at.for_each_query([&](int64_t b, int64_t h, int64_t t) {
    const VisibleKeys keys = visible_keys(op.document_starts, {}, op.window, b, t, at.T, at.S);
    softmax_row(op, at, keys, b, h, t, probabilities);
    std::copy(probabilities.begin(), probabilities.end(),
              f64(op.probabilities) + at.statistic(b, h, t) * at.S + keys.first);
    add_values(op, at, keys, b, h, t, probabilities);
  });
}

void run(const op::PlainAttentionGrad& op) {
  const AttentionLayout at(op.q, op.k);
  double *dq = begin_slot(op.dq), *dk = begin_slot(op.dk), *dv = begin_slot(op.dv);
  std::vector<double> dp(static_cast<size_t>(at.S));
  at.for_each_query([&](int64_t b, int64_t h, int64_t t) {
    const int64_t query = at.query(b, t, h);
    const double* p = f64(op.probabilities) + at.statistic(b, h, t) * at.S;
    double delta = 0;
    for (int64_t s = 0; s <= t; ++s) {
      const double product = dot(f64(op.dy) + query, f64(op.v) + at.key(b, s, h), at.D);
      dp[static_cast<size_t>(s)] = product;
      delta += p[s] * product;
    }
    for (int64_t s = 0; s <= t; ++s) {
      const double dS = p[s] * (dp[static_cast<size_t>(s)] - delta);
      add_pair_gradients(op, at, query, at.key(b, s, h), p[s], dS, dq, dk, dv);
    }
  });
}

}  // namespace owlet::reference
