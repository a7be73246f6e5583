// The decoder against transformers: losses, logits, every gradient, ten AdamW steps (tests/golden/models).
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "backends/cpu/cpu_backend.hpp"
#include "backends/reference/reference_backend.hpp"
#include "tests/support/golden_model.hpp"

namespace owlet {
namespace {

using namespace owlet::testing;

/// Relative error of a result that is reached over `num_products` matrix products and as many norms in a row, each a
/// sum of up to `longest_sum` terms: rounding errors of sums grow with the root of their length (Higham and Mary 2019),
/// those of a chain at most with its length.
double chain_tolerance(double roundoff, double num_products, double longest_sum) {
  return 4.0 * num_products * std::sqrt(longest_sum) * roundoff;
}

class Precision {
 public:
  Precision(const DecoderConfig& config, bool is_f64) {
    const double products = 6.0 * static_cast<double>(config.num_layers) + 2.0;
    const double longest = static_cast<double>(std::max(config.feed_forward_width, config.vocab_size));
    forward = chain_tolerance(is_f64 ? 0x1p-53 : 0x1p-24, products, longest);
    // The way to the loss and back; a weight's gradient then sums over all tokens.
    backward = chain_tolerance(is_f64 ? 0x1p-53 : 0x1p-24, 3.0 * products, longest);
  }
  double forward = 0, backward = 0;
};

std::vector<double> numbers(const Json& json) {
  std::vector<double> values;
  for (const Json& item : json) {
    if (item.is_array()) {
      for (const double value : numbers(item)) values.push_back(value);
    } else {
      values.push_back(item.get<double>());
    }
  }
  return values;
}

/// Compares norm, probe and samples of one tensor. `tolerance` counts in root mean squares of the tensor, or of
/// `least_norm` where that is larger.
void expect_summary(const std::string& name, const std::vector<double>& values, const Json& golden, double tolerance,
                    double least_norm = 0) {
  const auto size = static_cast<int64_t>(values.size());
  const double norm = std::max(golden["norm"].get<double>(), least_norm);
  const double typical = norm / std::sqrt(static_cast<double>(size));
  EXPECT_NEAR(norm_of(values), golden["norm"].get<double>(), tolerance * norm) << name;
  const std::vector<double> probe = centred(name + ".probe", size);
  double product = 0;
  for (size_t i = 0; i < values.size(); ++i) product += probe[i] * values[i];
  EXPECT_NEAR(product, golden["probe"].get<double>(), tolerance * norm * norm_of(probe)) << name;
  const std::vector<int64_t> places = hashed(name + ".samples", 8);
  for (size_t i = 0; i < places.size(); ++i) {
    const auto place = static_cast<size_t>(places[i] % size);
    // Elements of one tensor differ in size; the rounding of large partial sums reaches small ones.
    EXPECT_NEAR(values[place], golden["samples"][i].get<double>(), 8.0 * tolerance * typical)
        << name << " at " << place;
  }
}

/// Without rotation a bias of the keys moves all scores of a query alike, which softmax does not see: its gradient is 0
/// up to the rounding of a sum of terms as large as those of the queries' bias. Returns that bias's norm, else 0.
double size_of_cancelled_terms(const GoldenModel& golden, const std::string& name) {
  const size_t found = name.find("k_proj.bias");
  if (golden.config.position == PositionKind::rope || found == std::string::npos) return 0;
  std::string query_name = name;
  query_name[found] = 'q';
  return golden.json["gradients"][query_name]["norm"].get<double>();
}

int64_t num_valid(const GoldenModel& golden) {
  const std::vector<int32_t> targets = golden.batch("targets");
  return std::ranges::count_if(targets, [](int32_t target) { return target >= 0; });
}

TestModel make_model(const GoldenModel& golden, bool is_f64) {
  ParameterStorage storage;
  storage.compute_type = is_f64 ? DType::f64 : DType::f32;
  return TestModel(is_f64 ? make_reference_backend()
                          : make_cpu_backend({.num_threads = 1, .instruction_set = {}, .memory_limit_bytes = 0}),
                   golden.config, storage);
}

struct GoldenCase {
  std::string name;
  bool is_f64 = true;
};

void PrintTo(const GoldenCase& golden_case, std::ostream* out) { *out << golden_case.name; }

std::string case_name(const ::testing::TestParamInfo<GoldenCase>& info) {
  return info.param.name + (info.param.is_f64 ? "_reference" : "_cpu");
}

std::vector<GoldenCase> both_backends(std::initializer_list<const char*> names) {
  std::vector<GoldenCase> cases;
  for (const char* name : names) {
    cases.push_back({name, true});
    cases.push_back({name, false});
  }
  return cases;
}

class ForwardGolden : public ::testing::TestWithParam<GoldenCase> {};

TEST_P(ForwardGolden, LogitsAreThoseOfTransformers) {
  const GoldenModel golden(GetParam().name);
  TestModel test = make_model(golden, GetParam().is_f64);
  const Precision precision(golden.config, GetParam().is_f64);
  const ModelInput input = test.input(golden);
  const std::vector<double> logits = test.read(test.model().logits(test.ctx(), input, false));
  const std::vector<double> last = test.read(test.model().logits(test.ctx(), input, true));
  const auto V = static_cast<ptrdiff_t>(golden.config.vocab_size);
  for (const auto& [position, expected] : golden.json["logits"].items()) {
    const auto begin = logits.begin() + std::stoi(position) * V;
    EXPECT_LE(relative_difference({begin, begin + V}, numbers(expected)), precision.forward) << position;
  }
  const std::vector<double> expected = numbers(golden.json["logits"][std::to_string(golden.context() - 1)]);
  EXPECT_LE(relative_difference({last.begin(), last.begin() + V}, expected), precision.forward);
}

INSTANTIATE_TEST_SUITE_P(Families, ForwardGolden,
                         ::testing::ValuesIn(both_backends({"llama", "llama_untied_biases", "mistral", "qwen2", "gpt2",
                                                            "gptj", "gptj_zero_bias"})),
                         case_name);

class BackwardGolden : public ::testing::TestWithParam<GoldenCase> {};

TEST_P(BackwardGolden, LossesAndGradientsAreThoseOfPyTorch) {
  const GoldenModel golden(GetParam().name);
  for (const AttentionKind kind : {AttentionKind::flash, AttentionKind::plain}) {
    TestModel test = make_model(golden, GetParam().is_f64);
    test.model().set_run_options({.attention = kind, .blocks_per_checkpoint = 0, .loss_chunk_rows = 7});
    const Precision precision(golden.config, GetParam().is_f64);
    const std::vector<double> losses = test.run_backward(test.input(golden), test.targets(golden), num_valid(golden));
    EXPECT_LE(relative_difference(losses, numbers(golden.json["losses"])), precision.forward);
    for (const Parameter& parameter : test.model().parameters().all()) {
      ASSERT_TRUE(golden.json["gradients"].contains(parameter.name)) << parameter.name;
      expect_summary(parameter.name, test.read(parameter.gradient), golden.summary("gradients", parameter.name),
                     precision.backward, size_of_cancelled_terms(golden, parameter.name));
    }
    EXPECT_EQ(test.model().parameters().all().size(), golden.json["gradients"].size());
  }
}

INSTANTIATE_TEST_SUITE_P(Families, BackwardGolden,
                         ::testing::ValuesIn(both_backends({"llama", "mistral", "qwen2", "gpt2", "gptj_zero_bias"})),
                         case_name);

/// Moments of AdamW and one update of all parameters, clipped to norm 1 as tools/golden/models.py does it.
class SmallOptimizer {
 public:
  explicit SmallOptimizer(TestModel& test) : test_(test) {
    for (const Parameter& parameter : test_.model().parameters().all()) {
      for (Tensor* moment : {&m_[parameter.name], &v_[parameter.name]}) {
        *moment = test_.ctx().empty_like(parameter.value);
        test_.ctx().run(op::Fill{*moment, 0.0f});
      }
    }
  }

  double gradient_norm() {
    double sum = 0;
    for (const Parameter& parameter : test_.model().parameters().all()) {
      const Tensor result = test_.ctx().empty({1}, DType::f64);
      test_.ctx().run(op::SquaredNorm{parameter.gradient, result});
      sum += test_.read(result)[0];
    }
    return std::sqrt(sum);
  }

  void step(int64_t number, double norm) {
    const auto factor = static_cast<float>(std::min(1.0, 1.0 / (norm + 1e-6)));
    for (const Parameter& parameter : test_.model().parameters().all()) {
      const float decay = parameter.decays ? 0.1f : 0.0f;
      op::AdamW update;
      update.learning_rate = 1e-3f;
      update.weight_decay = decay;
      update.step = number;
      update.gradient_scale = factor;
      update.weight = parameter.value;
      update.gradient = parameter.gradient;
      update.m = m_[parameter.name];
      update.v = v_[parameter.name];
      test_.ctx().run(update);
    }
  }

 private:
  TestModel& test_;
  std::map<std::string, Tensor> m_, v_;
};

class TrainingGolden : public ::testing::TestWithParam<GoldenCase> {};

TEST_P(TrainingGolden, TenAdamWStepsAreThoseOfPyTorch) {
  const GoldenModel golden(GetParam().name);
  TestModel test = make_model(golden, GetParam().is_f64);
  const Precision precision(golden.config, GetParam().is_f64);
  SmallOptimizer optimizer(test);
  const int64_t valid = num_valid(golden);
  for (int64_t step = 0; step < 10; ++step) {
    const std::vector<double> losses = test.run_backward(test.input(golden), test.targets(golden), valid);
    double mean = 0;
    for (const double loss : losses) mean += loss * double{static_cast<float>(1.0 / static_cast<double>(valid))};
    const double expected = golden.json["step_losses"][static_cast<size_t>(step)].get<double>();
    const double norm = optimizer.gradient_norm();
    const double expected_norm = golden.json["gradient_norms"][static_cast<size_t>(step)].get<double>();
    const double growth = static_cast<double>(step + 1);
    EXPECT_NEAR(mean, expected, growth * precision.forward * expected) << "step " << step;
    EXPECT_NEAR(norm, expected_norm, growth * precision.backward * expected_norm) << "step " << step;
    optimizer.step(step + 1, norm);
  }
  for (const Parameter& parameter : test.model().parameters().all()) {
    const Json& summary = golden.summary("weights", parameter.name);
    const double root_size = std::sqrt(static_cast<double>(parameter.shape.num_elements()));
    const double typical = summary["norm"].get<double>() / root_size;
    // AdamW divides by the size of the gradient: an element with a gradient 1/r of the usual size moves by a step whose
    // relative error is r times larger. r = 30 leaves out no sample of these models; ten steps of 1e-3. A gradient that
    // is nothing but rounding noise is divided by itself and eps.
    const double noise = size_of_cancelled_terms(golden, parameter.name) * precision.backward / root_size;
    const double step_error = noise > 0 ? noise / (noise + 1e-8) : 30.0 * precision.backward;
    const double moved = 10.0 * 1e-3 * step_error / typical;
    expect_summary(parameter.name, test.read(parameter.value), summary, precision.forward + moved);
  }
}

INSTANTIATE_TEST_SUITE_P(Families, TrainingGolden,
                         ::testing::ValuesIn(both_backends({"llama", "mistral", "qwen2", "gpt2", "gptj_zero_bias"})),
                         case_name);

}  // namespace
}  // namespace owlet
