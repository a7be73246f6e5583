// SwiGLU, GELU and Add.
#include <cmath>
#include <numbers>

#include "backends/reference/kernels.hpp"

namespace owlet::reference {

namespace {

double sigmoid(double z) { return 1 / (1 + std::exp(-z)); }

/// The normal distribution function and its density. erfc instead of 1 + erf: no cancellation far left.
double normal_cdf(double x) { return 0.5 * std::erfc(-x / std::numbers::sqrt2); }
double normal_density(double x) { return std::exp(-0.5 * x * x) / std::sqrt(2 * std::numbers::pi); }

/// Twice the argument z of the tanh form and its slope: (1 + tanh z) / 2 = sigmoid(2 z), without cancellation far left.
constexpr double kCubic = 0.044715;
double doubled_argument(double x) { return 2 * std::sqrt(2 / std::numbers::pi) * (x + kCubic * x * x * x); }
double doubled_argument_slope(double x) { return 2 * std::sqrt(2 / std::numbers::pi) * (1 + 3 * kCubic * x * x); }

}  // namespace

void run(const op::SwiGlu& op) {
  for (int64_t i = 0; i < op.y.num_elements(); ++i) {
    const double gate = f64(op.gate)[i];
    f64(op.y)[i] = gate * sigmoid(gate) * f64(op.up)[i];
  }
}

void run(const op::SwiGluGrad& op) {
  double* dgate = begin_slot(op.dgate);
  double* dup = begin_slot(op.dup);
  for (int64_t i = 0; i < op.dy.num_elements(); ++i) {
    const double dy = f64(op.dy)[i], gate = f64(op.gate)[i], up = f64(op.up)[i], s = sigmoid(gate);
    if (dgate) dgate[i] += dy * up * s * (1 + gate * (1 - s));
    if (dup) dup[i] += dy * gate * s;
  }
}

void run(const op::Gelu& op) {
  for (int64_t i = 0; i < op.y.num_elements(); ++i) {
    const double x = f64(op.x)[i];
    f64(op.y)[i] = op.kind == GeluKind::exact ? x * normal_cdf(x) : x * sigmoid(doubled_argument(x));
  }
}

void run(const op::GeluGrad& op) {
  double* dx = begin_slot(op.dx);
  if (dx == nullptr) return;
  for (int64_t i = 0; i < op.dy.num_elements(); ++i) {
    const double x = f64(op.x)[i];
    double slope;
    if (op.kind == GeluKind::exact) {
      slope = normal_cdf(x) + x * normal_density(x);
    } else {
      const double z = doubled_argument(x);
      slope = sigmoid(z) + x * sigmoid(z) * sigmoid(-z) * doubled_argument_slope(x);
    }
    dx[i] += f64(op.dy)[i] * slope;
  }
}

void run(const op::Add& op) {
  for (int64_t i = 0; i < op.y.num_elements(); ++i) f64(op.y)[i] = f64(op.a)[i] + f64(op.b)[i];
}

}  // namespace owlet::reference
