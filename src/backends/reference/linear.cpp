// Linear with its gradients, and the output head with cross-entropy.
#include <cmath>
#include <vector>

#include "backends/reference/kernels.hpp"
#include "base/error.hpp"

namespace owlet::reference {

void run(const op::Linear& op) {
  const int64_t N = op.x.rows(), K = op.weight.dim(1), M = op.weight.dim(0);
  for (int64_t n = 0; n < N; ++n) {
    for (int64_t m = 0; m < M; ++m) {
      double sum = op.bias.defined() ? f64(op.bias)[m] : 0.0;
      for (int64_t k = 0; k < K; ++k) sum += f64(op.x)[n * K + k] * f64(op.weight)[m * K + k];
      f64(op.y)[n * M + m] = sum;
    }
  }
}

void run(const op::LinearInputGrad& op) {
  double* dx = begin_slot(op.dx);
  if (dx == nullptr) return;
  const int64_t N = op.dy.rows(), K = op.weight.dim(1), M = op.weight.dim(0);
  for (int64_t n = 0; n < N; ++n) {
    for (int64_t m = 0; m < M; ++m) {
      for (int64_t k = 0; k < K; ++k) dx[n * K + k] += f64(op.dy)[n * M + m] * f64(op.weight)[m * K + k];
    }
  }
}

void run(const op::LinearWeightGrad& op) {
  double* dweight = begin_slot(op.dweight);
  double* dbias = begin_slot(op.dbias);
  const int64_t N = op.x.rows(), K = op.x.columns(), M = op.dy.columns();
  for (int64_t n = 0; n < N; ++n) {
    for (int64_t m = 0; m < M; ++m) {
      const double dy = f64(op.dy)[n * M + m];
      if (dbias) dbias[m] += dy;
      for (int64_t k = 0; dweight && k < K; ++k) dweight[m * K + k] += dy * f64(op.x)[n * K + k];
    }
  }
}

void run(const op::LinearCrossEntropy& op) {
  const int64_t N = op.x.rows(), C = op.x.columns(), V = op.weight.dim(0);
  const double* weight = f64(op.weight);
  double* dx = begin_slot(op.dx);
  double* dweight = begin_slot(op.dweight);
  std::vector<double> logits(static_cast<size_t>(V));
  for (int64_t n = 0; n < N; ++n) {
    const int64_t target = i32(op.targets)[n];
    check(target >= -1 && target < V, ErrorKind::invalid_argument,
          "linear_cross_entropy: target {} at position {} is outside [-1, {})", target, n, V);
    f64(op.losses)[n] = 0;
    if (target < 0) continue;

    const double* x = f64(op.x) + n * C;
    for (int64_t v = 0; v < V; ++v) {
      double sum = 0;
      for (int64_t c = 0; c < C; ++c) sum += x[c] * weight[v * C + c];
      logits[static_cast<size_t>(v)] = sum;
    }
    const double largest = *std::max_element(logits.begin(), logits.end());
    double total = 0;
    for (double logit : logits) total += std::exp(logit - largest);
    const double lse = largest + std::log(total);
    f64(op.losses)[n] = lse - logits[static_cast<size_t>(target)];

    for (int64_t v = 0; v < V; ++v) {
      const double softmax = std::exp(logits[static_cast<size_t>(v)] - lse);
      const double dlogit = double{op.gradient_scale} * (softmax - (v == target ? 1.0 : 0.0));
      for (int64_t c = 0; c < C; ++c) {
        if (dx) dx[n * C + c] += dlogit * weight[v * C + c];
        if (dweight) dweight[v * C + c] += dlogit * x[c];
      }
    }
  }
}

}  // namespace owlet::reference
