// Small models with known weights, and what transformers computed with them (tests/golden/models, written by
// tools/golden/models.py, which describes the formulas repeated here).
#pragma once

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.hpp"
#include "base/random.hpp"
#include "models/decoder/checkpoint_names.hpp"
#include "models/decoder/config.hpp"
#include "models/decoder/decoder.hpp"
#include "models/language_model.hpp"
#include "ops/any_op.hpp"

namespace owlet::testing {

/// `count` integers below 2^16: FNV-1a of the name, then SplitMix64 of the position.
inline std::vector<int64_t> hashed(std::string_view name, int64_t count) {
  const uint64_t hash = stream_id(name);
  std::vector<int64_t> values;
  for (int64_t i = 1; i <= count; ++i) {
    uint64_t z = hash + static_cast<uint64_t>(i) * 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    values.push_back(static_cast<int64_t>((z ^ (z >> 31)) >> 48));
  }
  return values;
}

/// `count` numbers in [-0.5, 0.5) with 16 bits.
inline std::vector<double> centred(std::string_view name, int64_t count) {
  std::vector<double> values;
  for (const int64_t integer : hashed(name, count)) values.push_back(static_cast<double>(integer - 32768) / 65536.0);
  return values;
}

/// The weights behind a Hub name; every one is exact in f32.
inline Tensor weight_values(const std::string& name, const Shape& shape) {
  const auto contains = [&](std::string_view part) { return name.find(part) != std::string::npos; };
  const bool is_gain =
      name.ends_with(".weight") && (contains("norm") || contains("ln_1") || contains("ln_2") || contains("ln_f"));
  Tensor values = make_host_tensor(shape, DType::f64);
  const std::vector<double> numbers = centred(name, shape.num_elements());
  for (size_t i = 0; i < numbers.size(); ++i) values.data<double>()[i] = 0.5 * numbers[i] + (is_gain ? 1.0 : 0.0);
  return values;
}

/// One golden file.
struct GoldenModel {
  Json json;
  DecoderConfig config;

  explicit GoldenModel(const std::string& name) {
    json = read_json(std::filesystem::path(OWLET_SOURCE_DIR) / "tests/golden/models" / (name + ".json"));
    config = from_hub_config(json["config"], name);
    if (json["zero_head_bias"].get<bool>()) config.has_head_bias = false;
  }
  /// Values of one of our parameters' summaries: "gradients" or "weights".
  const Json& summary(const std::string& kind, const std::string& parameter) const { return json[kind][parameter]; }
  std::vector<int32_t> batch(const std::string& field) const {
    std::vector<int32_t> values;
    for (const Json& row : json["batch"][field]) {
      for (const Json& value : row) values.push_back(value.get<int32_t>());
    }
    return values;
  }
  int64_t num_rows() const { return static_cast<int64_t>(json["batch"]["tokens"].size()); }
  int64_t context() const { return static_cast<int64_t>(json["batch"]["tokens"][0].size()); }
};

/// Fills the parameters with weight_values by Hub name.
inline void load_golden_weights(Context& ctx, const DecoderConfig& config, ParameterSet& parameters) {
  std::vector<NamedShape> shapes = exported_shapes(config);
  import_weights(ctx, config, parameters, [&](const std::string& name) {
    for (const NamedShape& known : shapes) {
      const bool is_left_out = name == "lm_head.bias" && !config.has_head_bias;
      if (known.name == name && !is_left_out) return weight_values(name, known.shape);
    }
    return Tensor();
  });
}

/// A model on a backend, with the tensors of a batch.
class TestModel {
 public:
  TestModel(std::unique_ptr<Backend> backend, const DecoderConfig& config, const ParameterStorage& storage)
      : backend_(std::move(backend)), ctx_(*backend_), config_(config), model_(make_decoder(ctx_, config, storage)) {
    load_golden_weights(ctx_, config, model_->parameters());
  }

  Context& ctx() { return ctx_; }
  Backend& backend() { return *backend_; }
  LanguageModel& model() { return *model_; }
  const DecoderConfig& config() const { return config_; }
  bool is_f64() const { return model_->parameters().storage().compute_type == DType::f64; }

  Tensor integers(const Shape& shape, const std::vector<int32_t>& values) {
    return ctx_.from_values<int32_t>(shape, values, MemoryKind::batch);
  }
  ModelInput input(const GoldenModel& golden) {
    const Shape shape{golden.num_rows(), golden.context()};
    ModelInput result{integers(shape, golden.batch("tokens")), integers(shape, golden.batch("positions")), {}, nullptr};
    const std::vector<int32_t> starts = golden.batch("document_starts");
    for (const int32_t start : starts) {
      if (start != 0) result.document_starts = integers(shape, starts);
    }
    return result;
  }
  Tensor targets(const GoldenModel& golden) {
    return integers({golden.num_rows(), golden.context()}, golden.batch("targets"));
  }

  std::vector<double> read(const Tensor& tensor) {
    Tensor host = make_host_tensor(tensor.shape(), tensor.dtype());
    backend_->read(tensor, host.bytes());
    std::vector<double> values;
    for (int64_t i = 0; i < host.num_elements(); ++i) values.push_back(element_as_double(host, i));
    return values;
  }

  /// Forward and backward of the mean loss; gradients stay in the parameters. Returns the losses of all tokens.
  std::vector<double> run_backward(const ModelInput& input, const Tensor& targets, int64_t num_valid) {
    ParameterSet& parameters = model_->parameters();
    parameters.release_gradients();
    Tape tape;
    parameters.watch_on(tape);
    Context recording(*backend_, &tape);
    const Tensor losses =
        model_->losses(recording, input, targets, static_cast<float>(1.0 / static_cast<double>(num_valid)));
    tape.backward(recording, losses);
    parameters.zero_unwritten_gradients(ctx_);
    return read(losses);
  }

 private:
  std::unique_ptr<Backend> backend_;
  Context ctx_;
  DecoderConfig config_;
  std::unique_ptr<LanguageModel> model_;
};

inline double norm_of(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value * value;
  return std::sqrt(sum);
}

/// Largest |a - b| in units of b's root mean square; infinite where lengths differ or a NaN appears.
inline double relative_difference(const std::vector<double>& a, const std::vector<double>& b) {
  double largest = a.size() == b.size() ? 0.0 : INFINITY;
  for (size_t i = 0; i < b.size() && i < a.size(); ++i) {
    const double difference = std::abs(a[i] - b[i]);
    largest = std::isnan(difference) ? INFINITY : std::max(largest, difference);
  }
  const double typical = norm_of(b) / std::sqrt(static_cast<double>(std::max<size_t>(1, b.size())));
  return typical > 0 ? largest / typical : largest;
}

}  // namespace owlet::testing
