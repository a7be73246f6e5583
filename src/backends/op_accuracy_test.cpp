// Every operation of the CPU backend against the float64 reference, within the bounds of
// tests/support/error_bounds.hpp.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "backends/reference/reference_backend.hpp"
#include "tests/support/error_bounds.hpp"
#include "tests/support/op_case.hpp"
#include "tests/support/op_trial.hpp"

namespace owlet::test {

namespace {

class OpAccuracy : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (!has_forced_instruction_set()) GTEST_SKIP() << forced_instruction_set() << " is not on this machine";
  }
};

/// What the reference makes of a rounded op.
AnyOp run_reference(const AnyOp& rounded, const TrialSetup& setup) {
  static const std::unique_ptr<Backend> reference = make_reference_backend();
  AnyOp op = with_own_results(rounded, setup);
  reference->run(op);
  return op;
}

Tensor field_named(const AnyOp& op, std::string_view name) {
  AnyOp copy = op;
  for (const OpField& field : op_fields(copy)) {
    if (field.name == name) return *field.tensor;
  }
  return {};
}

double rounded_to(double value, DType dtype) {
  const Tensor element = make_host_tensor({1}, dtype);
  set_element(element, 0, value);
  return element_as_double(element, 0);
}

/// Flushing tiny numbers to zero is allowed, as is what that loses in a sum.
constexpr double kTiny = 64 * static_cast<double>(std::numeric_limits<float>::min());
/// Bounds are of first order; this covers what is left out.
constexpr double kSecondOrder = 1.01;

/// How many elements of `result` are further from `expected` than allowed, and the worst of them in words.
struct Comparison {
  int64_t num_wrong = 0;
  double worst = 0;
  std::string message;
};

Comparison compare(const Tensor& result, const Tensor& expected, const Tensor& initial, const ErrorBound& bound,
                   bool accumulate) {
  Comparison comparison;
  const double roundoff = unit_roundoff(result.dtype());
  for (int64_t i = 0; i < result.num_elements(); ++i) {
    const double got = element_as_double(result, i), want = element_as_double(expected, i);
    double allowed = 0, distance = 0;
    if (bound.error.empty()) {
      distance = std::abs(got - rounded_to(want, result.dtype()));
    } else {
      double error = kSecondOrder * bound.error[static_cast<size_t>(i)];
      if (accumulate) error += gamma(bound.chain) * (std::abs(element_as_double(initial, i)) + std::abs(want));
      allowed = error + roundoff * (std::abs(want) + error) + kTiny;
      distance = std::abs(got - want);
    }
    if (distance <= allowed) continue;
    ++comparison.num_wrong;
    const double excess = std::isnan(distance) ? INFINITY : distance / std::max(allowed, 1e-300);
    if (!(excess > comparison.worst)) continue;
    comparison.worst = excess;
    comparison.message = fmt::format("element {}: {:.9g}, expected {:.9g} +- {:.3g} ({:.2f} times the bound)", i, got,
                                     want, allowed, excess);
  }
  return comparison;
}

void expect_accurate(const OpCase& one, const TrialSetup& setup, const AnyOp& rounded, const AnyOp& reference,
                     const ErrorBounds& bounds) {
  OpTrial trial(cpu_under_test(), one, rounded, setup);
  ASSERT_NO_THROW(trial.run()) << one.name << ", " << setup.describe();
  EXPECT_EQ(trial.stray_write(), "") << one.name << ", " << setup.describe();
  for (const auto& [name, result] : trial.results()) {
    const auto bound = bounds.find(name);
    ASSERT_NE(bound, bounds.end()) << one.name << " has no error bound for " << name;
    const Comparison comparison =
        compare(result, field_named(reference, name), field_named(rounded, name), bound->second, setup.accumulate);
    EXPECT_EQ(comparison.num_wrong, 0) << one.name << ", " << setup.describe() << ": " << name << " "
                                       << comparison.message;
  }
}

TEST_P(OpAccuracy, MatchesTheReference) {
  for (const OpCase& one : cases_of(GetParam())) {
    AnyOp rounded = round_op(one, DType::f32), reference = rounded, plain = rounded;
    ErrorBounds bounds;
    TrialSetup last{DType::f64, 0, false, {}};
    for (const TrialSetup& setup : setups_of(one)) {
      if (setup.activation != last.activation) {
        rounded = round_op(one, setup.activation);
        plain = run_reference(rounded, {setup.activation, 0, false, {}});
        bounds = error_bounds(plain, setup.activation);
      }
      reference = setup.accumulate ? run_reference(rounded, setup) : plain;
      last = setup;
      expect_accurate(one, setup, rounded, reference, bounds);
    }
    if (HasFailure()) break;  // one shape says enough
  }
}

/// Ops whose kernels multiply what a mask hides (a later key, a token that is not scored) by 0 instead of leaving it
/// out: 0 times NaN is NaN, so that it may show in more places than in the reference.
bool may_spread(std::string_view op_name) {
  return op_name.find("attention") != std::string_view::npos || op_name == op::LinearCrossEntropy::kName;
}

/// NaN and infinity stand in the results exactly where they stand in the reference's.
void expect_same_finite(const OpCase& one, DType activation, RandomStream& random) {
  const AnyOp rounded = round_op(one, activation);
  const std::string poison = poison_inputs(rounded, random);
  const TrialSetup setup{activation, 1, false, {}};
  const AnyOp reference = run_reference(rounded, setup);
  OpTrial trial(cpu_under_test(), one, rounded, setup);
  ASSERT_NO_THROW(trial.run()) << one.name;
  for (const auto& [name, result] : trial.results()) {
    const Tensor expected = field_named(reference, name);
    for (int64_t i = 0; i < result.num_elements(); ++i) {
      const double got = element_as_double(result, i), want = element_as_double(expected, i);
      if (may_spread(rounded.name()) && std::isfinite(want)) continue;
      ASSERT_EQ(std::isfinite(got), std::isfinite(want))
          << one.name << ", " << setup.describe() << ": " << name << " element " << i << " is " << got << ", expected "
          << want << " from " << poison;
    }
  }
}

TEST_P(OpAccuracy, ShowsWhatIsNotFinite) {
  const std::vector<OpCase> cases = cases_of(GetParam());
  const int draws = cases.size() < 40 ? 4 : 1;
  for (const OpCase& one : cases) {
    RandomStream random(2, stream_id(one.name));
    for (DType activation : {DType::f32, DType::bf16}) {
      for (int draw = 0; draw < draws; ++draw) expect_same_finite(one, activation, random);
    }
    if (HasFailure()) break;
  }
}

INSTANTIATE_TEST_SUITE_P(Cpu, OpAccuracy, testing::ValuesIn(all_op_names()),
                         [](const auto& parameter) { return parameter.param; });

}  // namespace

}  // namespace owlet::test
