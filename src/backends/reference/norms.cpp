// RMSNorm and LayerNorm with their gradients.
#include <cmath>

#include "backends/reference/kernels.hpp"

namespace owlet::reference {

void run(const op::RmsNorm& op) {
  const int64_t N = op.x.rows(), C = op.x.columns();
  for (int64_t n = 0; n < N; ++n) {
    const double* x = f64(op.x) + n * C;
    double* y = f64(op.y) + n * C;
    double sum = 0;
    for (int64_t c = 0; c < C; ++c) sum += x[c] * x[c];
    const double r = 1 / std::sqrt(sum / static_cast<double>(C) + double{op.eps});
    f64(op.inv_rms)[n] = r;
    for (int64_t c = 0; c < C; ++c) y[c] = x[c] * r * f64(op.weight)[c];
  }
}

void run(const op::RmsNormGrad& op) {
  const int64_t N = op.x.rows(), C = op.x.columns();
  double* dx = begin_slot(op.dx);
  double* dweight = begin_slot(op.dweight);
  const double* weight = f64(op.weight);
  for (int64_t n = 0; n < N; ++n) {
    const double* x = f64(op.x) + n * C;
    const double* dy = f64(op.dy) + n * C;
    const double r = f64(op.inv_rms)[n];
    double mean = 0;
    for (int64_t c = 0; c < C; ++c) mean += dy[c] * weight[c] * x[c];
    mean /= static_cast<double>(C);
    for (int64_t c = 0; c < C; ++c) {
      if (dx) dx[n * C + c] += r * (dy[c] * weight[c] - x[c] * r * r * mean);
      if (dweight) dweight[c] += dy[c] * x[c] * r;
    }
  }
}

void run(const op::LayerNorm& op) {
  const int64_t N = op.x.rows(), C = op.x.columns();
  for (int64_t n = 0; n < N; ++n) {
    const double* x = f64(op.x) + n * C;
    double* y = f64(op.y) + n * C;
    double mean = 0, variance = 0;
    for (int64_t c = 0; c < C; ++c) mean += x[c];
    mean /= static_cast<double>(C);
    for (int64_t c = 0; c < C; ++c) variance += (x[c] - mean) * (x[c] - mean);
    variance /= static_cast<double>(C);
    const double inv_std = 1 / std::sqrt(variance + double{op.eps});
    f64(op.mean)[n] = mean;
    f64(op.inv_std)[n] = inv_std;
    for (int64_t c = 0; c < C; ++c) {
      y[c] = (x[c] - mean) * inv_std * f64(op.weight)[c] + (op.bias.defined() ? f64(op.bias)[c] : 0.0);
    }
  }
}

void run(const op::LayerNormGrad& op) {
  const int64_t N = op.x.rows(), C = op.x.columns();
  double* dx = begin_slot(op.dx);
  double* dweight = begin_slot(op.dweight);
  double* dbias = begin_slot(op.dbias);
  for (int64_t n = 0; n < N; ++n) {
    const double* x = f64(op.x) + n * C;
    const double* dy = f64(op.dy) + n * C;
    const double mean = f64(op.mean)[n], inv_std = f64(op.inv_std)[n];
    const auto g = [&](int64_t c) { return dy[c] * f64(op.weight)[c]; };
    const auto xhat = [&](int64_t c) { return (x[c] - mean) * inv_std; };
    double mean_g = 0, mean_g_xhat = 0;
    for (int64_t c = 0; c < C; ++c) {
      mean_g += g(c) / static_cast<double>(C);
      mean_g_xhat += g(c) * xhat(c) / static_cast<double>(C);
    }
    for (int64_t c = 0; c < C; ++c) {
      if (dx) dx[n * C + c] += inv_std * (g(c) - mean_g - xhat(c) * mean_g_xhat);
      if (dweight) dweight[c] += dy[c] * xhat(c);
      if (dbias) dbias[c] += dy[c];
    }
  }
}

}  // namespace owlet::reference
