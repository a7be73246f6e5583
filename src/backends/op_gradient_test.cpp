// Numerical differences of the float64 forward pass against the backward pass that the op functions record, run on the
// reference backend: checks the recorded closures and the reference's gradients, which in turn check the kernels.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <set>

#include "backends/reference/reference_backend.hpp"
#include "base/random.hpp"
#include "ops/any_op.hpp"
#include "ops/tape.hpp"
#include "tests/support/op_case.hpp"

namespace owlet::test {

namespace {

/// The reference backend, noting which ops ran.
class NotingBackend final : public Backend {
 public:
  std::string_view name() const override { return "noting"; }
  void run(const AnyOp& op) override {
    seen.emplace(op.name());
    inner_->run(op);
  }
  bool supports(const AnyOp& op) const override { return inner_->supports(op); }
  CachingAllocator& allocator() override { return inner_->allocator(); }
  void write(const Tensor& tensor, const void* source) override { inner_->write(tensor, source); }
  void read(const Tensor& tensor, void* target) override { inner_->read(tensor, target); }

  std::set<std::string, std::less<>> seen;

 private:
  std::unique_ptr<Backend> inner_ = make_reference_backend();
};

/// A function of some f64 tensors, written with op functions.
struct GradientCase {
  std::string name;
  std::vector<Tensor> inputs;
  std::function<Tensor(Context&)> forward;
};

double inner_product(const Tensor& a, const Tensor& b) {
  double sum = 0;
  for (int64_t i = 0; i < a.num_elements(); ++i) sum += a.data<double>()[i] * b.data<double>()[i];
  return sum;
}

/// d<cotangent, forward> / d input[i] by central differences. Truncation: h^2 f'''/6; rounding: 2^-53 f / h; with
/// h = 6e-6 both are about 1e-10.
double difference(Backend& backend, const GradientCase& one, const Tensor& input, int64_t i, const Tensor& cotangent) {
  constexpr double kStep = 6e-6;
  Context ctx(backend);
  double& value = input.data<double>()[i];
  const double original = value;
  value = original + kStep;
  const double above = inner_product(one.forward(ctx), cotangent);
  value = original - kStep;
  const double below = inner_product(one.forward(ctx), cotangent);
  value = original;
  return (above - below) / (2 * kStep);
}

/// Relative to the largest element of the gradient. Measured errors are below 1e-8.
constexpr double kTolerance = 1e-7;

void expect_gradient(const std::string& what, const Tensor& gradient, const std::vector<double>& expected,
                     double factor) {
  double largest = 0;
  for (double value : expected) largest = std::max(largest, factor * std::abs(value));
  for (int64_t i = 0; i < gradient.num_elements(); ++i) {
    EXPECT_NEAR(gradient.data<double>()[i], factor * expected[static_cast<size_t>(i)], kTolerance * (largest + 1e-3))
        << what << ", element " << i;
  }
}

/// Backward once, and with the function applied twice to the same inputs, so that the second gradient adds to the
/// first.
void check_gradients(Backend& backend, const GradientCase& one) {
  CaseInputs random(one.name);
  Context forward_only(backend);
  const Tensor cotangent = random.normal(one.forward(forward_only).shape());
  std::vector<std::vector<double>> expected;
  for (const Tensor& input : one.inputs) {
    std::vector<double>& differences = expected.emplace_back();
    for (int64_t i = 0; i < input.num_elements(); ++i) {
      differences.push_back(difference(backend, one, input, i, cotangent));
    }
  }
  for (int times : {1, 2}) {
    Tape tape;
    Context ctx(backend, &tape);
    for (const Tensor& input : one.inputs) tape.watch_input(input);
    for (int i = 0; i < times; ++i) tape.seed(one.forward(ctx), cotangent);
    tape.backward(ctx);
    for (size_t i = 0; i < one.inputs.size(); ++i) {
      const Tensor gradient = tape.gradient(one.inputs[i]);
      ASSERT_TRUE(gradient.defined()) << one.name << ": input " << i << " got no gradient";
      expect_gradient(fmt::format("{}: input {}, applied {} times", one.name, i, times), gradient, expected[i], times);
    }
  }
  // Each input wanted alone.
  for (size_t i = 0; i < one.inputs.size() && one.inputs.size() > 1; ++i) {
    Tape tape;
    Context ctx(backend, &tape);
    tape.watch_input(one.inputs[i]);
    tape.seed(one.forward(ctx), cotangent);
    tape.backward(ctx);
    expect_gradient(fmt::format("{}: only input {} wanted", one.name, i), tape.gradient(one.inputs[i]), expected[i], 1);
  }
}

GradientCase embedding_case() {
  CaseInputs in("embedding");
  const Tensor tokens = in.indices({2, 4}, 0, 3), weight = in.normal({3, 5});
  return {"embedding", {weight}, [=](Context& ctx) { return embedding(ctx, tokens, weight); }};
}

GradientCase rms_norm_case() {
  CaseInputs in("rms_norm");
  const Tensor x = in.normal({2, 2, 6}), weight = in.normal({6});
  return {"rms_norm", {x, weight}, [=](Context& ctx) { return rms_norm(ctx, x, weight, 1e-2f); }};
}

GradientCase layer_norm_case(bool has_bias) {
  CaseInputs in("layer_norm");
  const Tensor x = in.normal({3, 6}, 1, 2), weight = in.normal({6}), bias = has_bias ? in.normal({6}) : Tensor();
  std::vector<Tensor> inputs{x, weight};
  if (has_bias) inputs.push_back(bias);
  return {"layer_norm", inputs, [=](Context& ctx) { return layer_norm(ctx, x, weight, bias, 1e-2f); }};
}

GradientCase linear_case(bool has_bias) {
  CaseInputs in("linear");
  const Tensor x = in.normal({2, 2, 3}), weight = in.normal({5, 3}), bias = has_bias ? in.normal({5}) : Tensor();
  std::vector<Tensor> inputs{x, weight};
  if (has_bias) inputs.push_back(bias);
  return {"linear", inputs, [=](Context& ctx) { return linear(ctx, x, weight, bias); }};
}

GradientCase rope_case(RopeStyle style) {
  CaseInputs in("rope");
  const Tensor x = in.normal({2, 3, 2, 6}), positions = in.indices({2, 3}, 0, 9);
  return {"rope", {x}, [=](Context& ctx) {
            return rope(ctx, x, positions, make_rope_table(ctx, 9, 4, 100.0, DType::f64), style);
          }};
}

GradientCase attention_case(AttentionKind kind, int64_t window, bool has_documents) {
  CaseInputs in("attention");
  const Tensor q = in.normal({2, 5, 4, 3}), k = in.normal({2, 5, 2, 3}), v = in.normal({2, 5, 2, 3});
  AttentionOptions options;
  options.kind = kind;
  options.scale = 0.6f;
  options.window = window;
  if (has_documents) {
    options.document_starts = make_host_tensor({2, 5}, DType::i32);
    for (int64_t i : {2, 3, 4}) set_element(options.document_starts, i, 2);
    for (int64_t i : {6, 7, 8}) set_element(options.document_starts, i, 1);
    set_element(options.document_starts, 9, 4);
  }
  return {"attention", {q, k, v}, [=](Context& ctx) { return attention(ctx, q, k, v, options); }};
}

GradientCase swiglu_case() {
  CaseInputs in("swiglu");
  const Tensor gate = in.normal({2, 7}, 2), up = in.normal({2, 7});
  return {"swiglu", {gate, up}, [=](Context& ctx) { return swiglu(ctx, gate, up); }};
}

GradientCase gelu_case(GeluKind kind) {
  CaseInputs in("gelu");
  const Tensor x = in.normal({15}, 2);
  return {"gelu", {x}, [=](Context& ctx) { return gelu(ctx, x, kind); }};
}

GradientCase add_case() {
  CaseInputs in("add");
  const Tensor a = in.normal({6}), b = in.normal({6});
  return {"add", {a, b}, [=](Context& ctx) { return add(ctx, a, b); }};
}

class OpGradient : public testing::Test {
 protected:
  NotingBackend backend_;
};

TEST_F(OpGradient, EachFunctionAgreesWithDifferences) {
  std::vector<GradientCase> cases{embedding_case(),
                                  rms_norm_case(),
                                  layer_norm_case(true),
                                  layer_norm_case(false),
                                  linear_case(true),
                                  linear_case(false),
                                  rope_case(RopeStyle::halves),
                                  rope_case(RopeStyle::pairs),
                                  swiglu_case(),
                                  gelu_case(GeluKind::exact),
                                  gelu_case(GeluKind::tanh),
                                  add_case()};
  for (AttentionKind kind : {AttentionKind::flash, AttentionKind::plain}) {
    cases.push_back(attention_case(kind, 0, false));
    cases.push_back(attention_case(kind, 2, false));
    cases.push_back(attention_case(kind, 0, true));
    cases.push_back(attention_case(kind, 3, true));
  }
  for (const GradientCase& one : cases) check_gradients(backend_, one);

  // Every gradient op there is has run: a new one needs a case above.
  for (const std::string& name : all_op_names()) {
    EXPECT_TRUE(!name.ends_with("_grad") || backend_.seen.contains(name)) << name << " was not reached";
  }
}

TEST_F(OpGradient, CrossEntropyAgreesWithDifferences) {
  CaseInputs in("cross_entropy");
  const Tensor x = in.normal({2, 3, 4}), weight = in.normal({7, 4}), targets = in.indices({2, 3}, 0, 7);
  set_element(targets, 2, -1);
  constexpr float kScale = 0.2f;
  const auto total = [&](Context& ctx, int64_t chunk_rows) {
    const Tensor losses = linear_cross_entropy(ctx, x, weight, targets, kScale, chunk_rows);
    double sum = 0;
    for (double loss : losses.span<double>()) sum += loss;
    return double{kScale} * sum;
  };
  for (int64_t chunk_rows : {1, 4, 256}) {
    Tape tape;
    Context ctx(backend_, &tape);
    tape.watch_input(x);
    tape.watch_input(weight);
    tape.backward(ctx, linear_cross_entropy(ctx, x, weight, targets, kScale, chunk_rows));
    for (const Tensor& input : {x, weight}) {
      std::vector<double> expected;
      for (double& value : input.span<double>()) {
        Context plain(backend_);
        const double original = value;
        value = original + 6e-6;
        const double above = total(plain, chunk_rows);
        value = original - 6e-6;
        const double below = total(plain, chunk_rows);
        value = original;
        expected.push_back((above - below) / 12e-6);
      }
      expect_gradient("linear_cross_entropy", tape.gradient(input), expected, 1);
    }
  }
}

TEST_F(OpGradient, OneTensorInTwoPlaces) {
  CaseInputs in("twice");
  const Tensor x = in.normal({2, 3}), q = in.normal({1, 4, 2, 3});
  check_gradients(backend_, {"swiglu of one tensor", {x}, [=](Context& ctx) { return swiglu(ctx, x, x); }});
  check_gradients(backend_, {"add of one tensor", {x}, [=](Context& ctx) { return add(ctx, x, x); }});
  check_gradients(backend_, {"attention of one tensor", {q}, [=](Context& ctx) {
                               return attention(ctx, q, q, q, {AttentionKind::flash, {}, 0.5f, 0});
                             }});
}

}  // namespace

}  // namespace owlet::test
