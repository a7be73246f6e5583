#include "models/decoder/checkpoint_names.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <map>

#include "backends/cpu/cpu_backend.hpp"
#include "base/error.hpp"
#include "tests/support/golden_model.hpp"

namespace owlet {
namespace {

using namespace owlet::testing;

constexpr std::initializer_list<const char*> kGoldens = {"llama", "llama_untied_biases", "mistral", "qwen2", "gpt2",
                                                         "gptj",  "gptj_zero_bias"};

using TensorMap = std::map<std::string, Tensor>;

TensorFetch fetch_from(const TensorMap& tensors) {
  return [&tensors](const std::string& name) {
    const auto found = tensors.find(name);
    return found == tensors.end() ? Tensor() : found->second;
  };
}

/// A golden model's file: every tensor that transformers saves.
TensorMap golden_file(const GoldenModel& golden) {
  TensorMap tensors;
  for (const auto& [name, dims] : golden.json["hub_shapes"].items()) {
    const auto shape = dims.get<std::vector<int64_t>>();
    tensors[name] = weight_values(name, Shape(std::span<const int64_t>(shape)));
    if (name == "lm_head.bias" && !golden.config.has_head_bias)
      tensors[name] = make_host_tensor(Shape{shape[0]}, DType::f32);
  }
  return tensors;
}

/// A model without weights on the CPU.
struct EmptyModel {
  std::unique_ptr<Backend> backend =
      make_cpu_backend({.num_threads = 1, .instruction_set = {}, .memory_limit_bytes = 0});
  Context ctx{*backend};
  DecoderConfig config;
  std::unique_ptr<LanguageModel> model;

  explicit EmptyModel(const DecoderConfig& c, DType dtype = DType::f32) : config(c) {
    model = make_decoder(ctx, config, {.compute_type = dtype, .keeps_master = true});
  }
  void import_all(const TensorMap& tensors) { import_weights(ctx, config, model->parameters(), fetch_from(tensors)); }
  TensorMap export_all(DType dtype) {
    TensorMap tensors;
    export_weights(ctx, config, model->parameters(), dtype,
                   [&](const NamedTensor& tensor) { tensors[tensor.name] = tensor.values; });
    return tensors;
  }
};

void expect_same_bits(const TensorMap& a, const TensorMap& b) {
  ASSERT_EQ(a.size(), b.size());
  for (const auto& [name, tensor] : a) {
    ASSERT_TRUE(b.contains(name)) << name;
    ASSERT_EQ(tensor.shape(), b.at(name).shape()) << name;
    ASSERT_EQ(tensor.dtype(), b.at(name).dtype()) << name;
    EXPECT_EQ(std::memcmp(tensor.bytes(), b.at(name).bytes(), tensor.size_bytes()), 0) << name;
  }
}

std::string refusal(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::corrupt_file);
    return error.what();
  }
  return "";
}

TEST(CheckpointNames, AreThoseOfTransformers) {
  for (const char* name : kGoldens) {
    const GoldenModel golden(name);
    std::map<std::string, std::vector<int64_t>> ours;
    for (const NamedShape& tensor : exported_shapes(golden.config)) {
      EXPECT_FALSE(ours.contains(tensor.name)) << tensor.name;
      ours[tensor.name] = {tensor.shape.dims().begin(), tensor.shape.dims().end()};
    }
    EXPECT_EQ(ours, (golden.json["hub_shapes"].get<std::map<std::string, std::vector<int64_t>>>())) << name;
  }
}

TEST(CheckpointNames, ExportGivesBackWhatWasImported) {
  for (const char* name : kGoldens) {
    const GoldenModel golden(name);
    TensorMap file = golden_file(golden);
    for (auto& [key, tensor] : file) {
      Tensor rounded = make_host_tensor(tensor.shape(), DType::f32);
      for (int64_t i = 0; i < tensor.num_elements(); ++i) set_element(rounded, i, element_as_double(tensor, i));
      tensor = rounded;
    }
    EmptyModel model(golden.config);
    model.import_all(file);
    expect_same_bits(model.export_all(DType::f32), file);

    // bf16 out, in and out again.
    const TensorMap small = model.export_all(DType::bf16);
    EmptyModel small_model(golden.config, DType::bf16);
    small_model.import_all(small);
    expect_same_bits(small_model.export_all(DType::bf16), small);
  }
}

TEST(CheckpointNames, ExportComesInTheAnnouncedOrderAndShape) {
  for (const char* name : kGoldens) {
    const GoldenModel golden(name);
    EmptyModel model(golden.config);
    model.import_all(golden_file(golden));
    const std::vector<NamedShape> announced = exported_shapes(golden.config);
    size_t next = 0;
    export_weights(model.ctx, golden.config, model.model->parameters(), DType::f32, [&](const NamedTensor& tensor) {
      ASSERT_LT(next, announced.size());
      EXPECT_EQ(tensor.name, announced[next].name);
      EXPECT_EQ(tensor.values.shape(), announced[next].shape) << tensor.name;
      ++next;
    });
    EXPECT_EQ(next, announced.size());
  }
}

TEST(CheckpointNames, NamesWithoutTheModelsPrefixAreTaken) {
  for (const char* name : {"llama", "gpt2"}) {
    const GoldenModel golden(name);
    const TensorMap file = golden_file(golden);
    TensorMap bare;
    for (const auto& [key, tensor] : file) bare[key.substr(key.find('.') + 1)] = tensor;
    EmptyModel with(golden.config), without(golden.config);
    with.import_all(file);
    without.import_all(bare);
    expect_same_bits(with.export_all(DType::f32), without.export_all(DType::f32));
  }
}

TEST(CheckpointNames, AllMissingTensorsAreNamed) {
  const GoldenModel golden("gpt2");
  TensorMap file = golden_file(golden);
  file.erase("transformer.h.1.attn.c_attn.bias");
  file.erase("transformer.wpe.weight");
  const std::string message = refusal([&] { EmptyModel(golden.config).import_all(file); });
  EXPECT_NE(message.find("transformer.h.1.attn.c_attn.bias"), std::string::npos) << message;
  EXPECT_NE(message.find("transformer.wpe.weight"), std::string::npos) << message;
}

TEST(CheckpointNames, AWrongShapeIsNamedWithBothShapes) {
  const GoldenModel golden("gpt2");
  TensorMap file = golden_file(golden);
  file["transformer.h.0.mlp.c_fc.weight"] = make_host_tensor({128, 32}, DType::f32);
  const std::string message = refusal([&] { EmptyModel(golden.config).import_all(file); });
  EXPECT_NE(message.find("transformer.h.0.mlp.c_fc.weight"), std::string::npos) << message;
  EXPECT_NE(message.find("(128, 32)"), std::string::npos) << message;
  EXPECT_NE(message.find("(32, 128)"), std::string::npos) << message;
}

TEST(CheckpointNames, ATiedHeadMayStandInTheFileIfItIsTheEmbedding) {
  const GoldenModel golden("llama");
  TensorMap file = golden_file(golden);
  const Tensor table = file.at("model.embed_tokens.weight");
  file["lm_head.weight"] = table;
  EmptyModel(golden.config).import_all(file);
  EXPECT_FALSE(has_separate_head(golden.config, fetch_from(file)));

  Tensor other = weight_values("another head", table.shape());
  file["lm_head.weight"] = other;
  EXPECT_TRUE(has_separate_head(golden.config, fetch_from(file)));
  const std::string message = refusal([&] { EmptyModel(golden.config).import_all(file); });
  EXPECT_NE(message.find("lm_head.weight"), std::string::npos) << message;

  DecoderConfig untied = golden.config;
  untied.ties_embeddings = false;
  EXPECT_FALSE(has_separate_head(untied, fetch_from(file)));
  EmptyModel model(untied);
  model.import_all(file);
  const TensorMap exported = model.export_all(DType::f64);
  EXPECT_EQ(std::memcmp(exported.at("lm_head.weight").bytes(), other.bytes(), other.size_bytes()), 0);
}

TEST(CheckpointNames, ABiasThatTheModelLacksMustBeZero) {
  const GoldenModel golden("gptj_zero_bias");
  TensorMap file = golden_file(golden);
  EmptyModel(golden.config).import_all(file);
  file.erase("lm_head.bias");
  EmptyModel(golden.config).import_all(file);
  file["lm_head.bias"] = weight_values("lm_head.bias", {golden.config.vocab_size});
  EXPECT_THROW(EmptyModel(golden.config).import_all(file), Error);
}

TEST(CheckpointNames, HalfPrecisionFilesAreRead) {
  const GoldenModel golden("llama");
  TensorMap file = golden_file(golden);
  Tensor half = make_host_tensor({golden.config.width}, DType::f16);
  // 1.0, -2.0, the smallest subnormal, 65504 in IEEE half.
  const std::vector<uint16_t> bits = {0x3c00, 0xc000, 0x0001, 0x7bff};
  std::memcpy(half.bytes(), bits.data(), bits.size() * sizeof(uint16_t));
  file["model.norm.weight"] = half;
  EmptyModel model(golden.config);
  model.import_all(file);
  const Tensor norm = model.export_all(DType::f32).at("model.norm.weight");
  const std::vector<float> expected = {1.0f, -2.0f, 0x1p-24f, 65504.0f};
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(norm.data<float>()[i], expected[i]);
}

}  // namespace
}  // namespace owlet
