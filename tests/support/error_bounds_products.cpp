// Error bounds of matrix products and of the output head. A sum of K products is wrong by gamma(K) times the sum of
// their absolute values, in any order.
#include <cmath>

#include "backends/reference/kernels.hpp"
#include "tests/support/error_bounds.hpp"

namespace owlet::test {

using reference::f64;
using reference::i32;

ErrorBounds error_bounds(const op::Linear& op, DType) {
  const int64_t N = op.x.rows(), K = op.weight.dim(1), M = op.weight.dim(0);
  std::vector<double> y = no_error(op.y);
  for (int64_t n = 0; n < N; ++n) {
    for (int64_t m = 0; m < M; ++m) {
      double sum = op.bias.defined() ? std::abs(f64(op.bias)[m]) : 0.0;
      for (int64_t k = 0; k < K; ++k) sum += std::abs(f64(op.x)[n * K + k] * f64(op.weight)[m * K + k]);
      at(y, n * M + m) = gamma(K + 1) * sum;
    }
  }
  return {{"y", {y}}};
}

ErrorBounds error_bounds(const op::LinearInputGrad& op, DType) {
  const int64_t N = op.dy.rows(), K = op.weight.dim(1), M = op.weight.dim(0);
  std::vector<double> dx = no_error(N * K);
  for (int64_t n = 0; n < N; ++n) {
    for (int64_t m = 0; m < M; ++m) {
      for (int64_t k = 0; k < K; ++k) {
        at(dx, n * K + k) += gamma(M) * std::abs(f64(op.dy)[n * M + m] * f64(op.weight)[m * K + k]);
      }
    }
  }
  return {{"dx", {dx}}};
}

ErrorBounds error_bounds(const op::LinearWeightGrad& op, DType) {
  const int64_t N = op.x.rows(), K = op.x.columns(), M = op.dy.columns();
  std::vector<double> dweight = no_error(M * K), dbias = no_error(M);
  for (int64_t n = 0; n < N; ++n) {
    for (int64_t m = 0; m < M; ++m) {
      const double dy = std::abs(f64(op.dy)[n * M + m]);
      at(dbias, m) += gamma(N) * dy;
      for (int64_t k = 0; k < K; ++k) at(dweight, m * K + k) += gamma(N) * dy * std::abs(f64(op.x)[n * K + k]);
    }
  }
  const double chain = static_cast<double>(N);
  return {{"dweight", {dweight, chain}}, {"dbias", {dbias, chain}}};
}

// Logits are wrong by e = gamma(C) sum |x w|. With A the largest |logit|, each exp(logit - largest) is wrong relatively
// by 2 e (two logits) + 2 A u (the rounded difference) + the exponential's own error; their sum by gamma(V) more, which
// is the absolute error of its logarithm.
ErrorBounds error_bounds(const op::LinearCrossEntropy& op, DType activation) {
  const int64_t N = op.x.rows(), C = op.x.columns(), V = op.weight.dim(0);
  const double u = kF32Roundoff, scale = std::abs(double{op.gradient_scale});
  std::vector<double> losses = no_error(op.losses), dx = no_error(op.x), dweight = no_error(op.weight), logits(V);
  for (int64_t n = 0; n < N; ++n) {
    const int64_t target = i32(op.targets)[n];
    if (target < 0) continue;
    const double* x = f64(op.x) + n * C;
    double e = 0, A = 0;
    for (int64_t v = 0; v < V; ++v) {
      double sum = 0, magnitude = 0;
      for (int64_t c = 0; c < C; ++c) {
        sum += x[c] * f64(op.weight)[v * C + c];
        magnitude += std::abs(x[c] * f64(op.weight)[v * C + c]);
      }
      at(logits, v) = sum;
      e = std::max(e, gamma(C) * magnitude);
      A = std::max(A, std::abs(sum));
    }
    const double lse = f64(op.losses)[n] + at(logits, target);
    const double relative = 2 * e + 2 * A * u + kExpRoundings * u;
    at(losses, n) = 2 * e + relative + gamma(V) + 4 * u * (std::abs(lse) + A);

    for (int64_t v = 0; v < V; ++v) {
      const double p = std::exp(at(logits, v) - lse), dlogit = scale * std::abs(p - (v == target ? 1.0 : 0.0));
      const double operand = scale * (p * (2 * relative + gamma(V + 2)) + 2 * u) + unit_roundoff(activation) * dlogit;
      for (int64_t c = 0; c < C; ++c) {
        at(dx, n * C + c) += std::abs(f64(op.weight)[v * C + c]) * (operand + gamma(V) * dlogit);
        at(dweight, v * C + c) += std::abs(x[c]) * (operand + gamma(N) * dlogit);
      }
    }
  }
  return {{"losses", {losses}}, {"dx", {dx}}, {"dweight", {dweight, static_cast<double>(N)}}};
}

}  // namespace owlet::test
