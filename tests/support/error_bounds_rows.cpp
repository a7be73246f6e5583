// Error bounds of operations on rows: embedding, norms, rope.
#include <cmath>

#include "backends/reference/kernels.hpp"
#include "tests/support/error_bounds.hpp"

namespace owlet::test {

using reference::f64;
using reference::i32;

// Copies are exact.
ErrorBounds error_bounds(const op::Embedding&, DType) { return {{"y", {}}}; }
ErrorBounds error_bounds(const op::CacheAppend&, DType) { return {{"cache", {}}}; }

// A sum of as many terms as a token occurs.
ErrorBounds error_bounds(const op::EmbeddingGrad& op, DType) {
  const int64_t N = op.dy.rows(), C = op.dy.columns(), V = op.dweight.tensor.dim(0);
  std::vector<double> error = no_error(op.dweight.tensor), occurrences = no_error(V);
  double most = 1;
  for (int64_t n = 0; n < N; ++n) {
    const int64_t token = i32(op.tokens)[n];
    most = std::max(most, at(occurrences, token) += 1);
    for (int64_t c = 0; c < C; ++c) at(error, token * C + c) += std::abs(f64(op.dy)[n * C + c]);
  }
  for (int64_t v = 0; v < V; ++v) {
    for (int64_t c = 0; c < C; ++c) at(error, v * C + c) *= gamma(at(occurrences, v));
  }
  return {{"dweight", {error, most}}};
}

// The sum of C squares has no cancellation: gamma(C + 1). Mean and eps: 2 more. The root halves it all, then the root
// and the division themselves: inv_rms is wrong by gamma(C / 2 + 5) relatively, y by two multiplications more.
ErrorBounds error_bounds(const op::RmsNorm& op, DType) {
  const int64_t N = op.x.rows(), C = op.x.columns();
  const double relative = gamma(static_cast<double>(C) / 2 + 5);
  std::vector<double> y = no_error(op.y), inv_rms = no_error(op.inv_rms);
  for (int64_t n = 0; n < N; ++n) {
    at(inv_rms, n) = relative * f64(op.inv_rms)[n];
    for (int64_t c = 0; c < C; ++c) at(y, n * C + c) = (relative + gamma(2.0)) * std::abs(f64(op.y)[n * C + c]);
  }
  return {{"y", {y}}, {"inv_rms", {inv_rms}}};
}

// dx = r (g - x r^2 m), m = mean(g x): |m| is wrong by gamma(C + 3) mean|g x|, and everything else is a handful of
// products and one difference.
ErrorBounds error_bounds(const op::RmsNormGrad& op, DType) {
  const int64_t N = op.x.rows(), C = op.x.columns();
  std::vector<double> dx = no_error(op.x), dweight = no_error(C);
  for (int64_t n = 0; n < N; ++n) {
    const double *x = f64(op.x) + n * C, *dy = f64(op.dy) + n * C, *weight = f64(op.weight);
    const double r = std::abs(f64(op.inv_rms)[n]);
    double mean = 0;
    for (int64_t c = 0; c < C; ++c) mean += std::abs(dy[c] * weight[c] * x[c]) / static_cast<double>(C);
    for (int64_t c = 0; c < C; ++c) {
      at(dx, n * C + c) = gamma(C + 9) * r * (std::abs(dy[c] * weight[c]) + std::abs(x[c]) * r * r * mean);
      at(dweight, c) += gamma(N + 2) * std::abs(dy[c] * x[c]) * r;
    }
  }
  return {{"dx", {dx}}, {"dweight", {dweight, static_cast<double>(N)}}};
}

// mean is wrong by e_mean = gamma(C + 1) mean|x|, each x - mean by e = e_mean + u (|x| + |mean|). The variance, summed
// over the squares of these differences, is wrong by gamma(C + 3) var + 2 sqrt(var) E + E^2 with E the largest e, and
// inv_std relatively by half of that over (var + eps) and four roundings.
ErrorBounds error_bounds(const op::LayerNorm& op, DType) {
  const int64_t N = op.x.rows(), C = op.x.columns();
  std::vector<double> y = no_error(op.y), mean_error = no_error(op.mean), inv_std_error = no_error(op.inv_std);
  for (int64_t n = 0; n < N; ++n) {
    const double* x = f64(op.x) + n * C;
    const double mean = f64(op.mean)[n], inv_std = f64(op.inv_std)[n];
    double mean_magnitude = 0, variance = 0, largest = 0;
    for (int64_t c = 0; c < C; ++c) {
      mean_magnitude += std::abs(x[c]) / static_cast<double>(C);
      variance += (x[c] - mean) * (x[c] - mean) / static_cast<double>(C);
      largest = std::max(largest, std::abs(x[c]));
    }
    const double e_mean = gamma(C + 1) * mean_magnitude;
    const double e = e_mean + kF32Roundoff * (largest + std::abs(mean));
    const double e_variance = gamma(C + 3) * variance + 2 * std::sqrt(variance) * e + e * e;
    const double relative = e_variance * inv_std * inv_std / 2 + gamma(4.0);
    at(mean_error, n) = e_mean;
    at(inv_std_error, n) = relative * inv_std;
    for (int64_t c = 0; c < C; ++c) {
      const double weight = std::abs(f64(op.weight)[c]), bias = op.bias.defined() ? std::abs(f64(op.bias)[c]) : 0.0;
      const double xhat = std::abs(x[c] - mean) * inv_std;
      at(y, n * C + c) = weight * (e * inv_std + xhat * relative) + gamma(4.0) * (weight * xhat + bias);
    }
  }
  return {{"y", {y}}, {"mean", {mean_error}}, {"inv_std", {inv_std_error}}};
}

// mean and inv_std are given, so that xhat is wrong by gamma(2) |xhat|; the two means by gamma(C + 5) times the means
// of absolute values.
ErrorBounds error_bounds(const op::LayerNormGrad& op, DType) {
  const int64_t N = op.x.rows(), C = op.x.columns();
  std::vector<double> dx = no_error(op.x), dweight = no_error(C), dbias = no_error(C);
  for (int64_t n = 0; n < N; ++n) {
    const double *x = f64(op.x) + n * C, *dy = f64(op.dy) + n * C;
    const double mean = f64(op.mean)[n], inv_std = std::abs(f64(op.inv_std)[n]);
    const auto g = [&](int64_t c) { return std::abs(dy[c] * f64(op.weight)[c]); };
    const auto xhat = [&](int64_t c) { return std::abs(x[c] - mean) * inv_std; };
    double mean_g = 0, mean_g_xhat = 0;
    for (int64_t c = 0; c < C; ++c) {
      mean_g += g(c) / static_cast<double>(C);
      mean_g_xhat += g(c) * xhat(c) / static_cast<double>(C);
    }
    for (int64_t c = 0; c < C; ++c) {
      at(dx, n * C + c) = gamma(C + 12) * inv_std * (g(c) + mean_g + xhat(c) * mean_g_xhat);
      at(dweight, c) += gamma(N + 4) * std::abs(dy[c]) * xhat(c);
      at(dbias, c) += gamma(N) * std::abs(dy[c]);
    }
  }
  const double chain = static_cast<double>(N);
  return {{"dx", {dx}}, {"dweight", {dweight, chain}}, {"dbias", {dbias, chain}}};
}

// Two products and a sum; dimensions that do not turn are copied.
ErrorBounds error_bounds(const op::Rope& op, DType) {
  const int64_t num_tokens = op.x.dim(0) * op.x.dim(1), H = op.x.dim(2), D = op.x.dim(3), num_pairs = op.table.dim(1);
  std::vector<double> y = no_error(op.y);
  for (int64_t n = 0; n < num_tokens; ++n) {
    const double* angles = f64(op.table) + i32(op.positions)[n] * num_pairs * 2;
    for (int64_t h = 0; h < H; ++h) {
      for (int64_t i = 0; i < num_pairs; ++i) {
        const bool is_halves = op.style == RopeStyle::halves;
        const int64_t base = (n * H + h) * D;
        const int64_t a = base + (is_halves ? i : 2 * i), b = base + (is_halves ? i + num_pairs : 2 * i + 1);
        const double cosine = std::abs(angles[2 * i]), sine = std::abs(angles[2 * i + 1]);
        const double xa = std::abs(f64(op.x)[a]), xb = std::abs(f64(op.x)[b]);
        at(y, a) = gamma(2.0) * (xa * cosine + xb * sine);
        at(y, b) = gamma(2.0) * (xb * cosine + xa * sine);
      }
    }
  }
  return {{"y", {y}}};
}

}  // namespace owlet::test
