// A checkpoint is a Hugging Face folder: its files are the very bytes that transformers loaded when the golden was
// made, and the model's logits are those that transformers computed from them. tools/golden/checkpoint.py makes the
// golden:
//
//   OWLET_KEEP_HUB_FOLDER=/tmp/hub build/release/src/train_test --gtest_filter='HubFolder.*'
//   python3 tools/golden/checkpoint.py /tmp/hub
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "backends/cpu/cpu_backend.hpp"
#include "base/atomic_file.hpp"
#include "base/checksum.hpp"
#include "base/json.hpp"
#include "base/temporary_folder.hpp"
#include "text/tokenizer.hpp"
#include "train/checkpoint.hpp"
#include "train/trainer.hpp"

namespace owlet {
namespace {

namespace fs = std::filesystem;

constexpr const char* kGolden = "tests/golden/train/hub_folder.json";

Recipe golden_recipe() {
  Recipe recipe = parse_recipe(R"(
[model]
width = 32
layers = 2
heads = 4
kv_heads = 2
feed_forward = 48
context = 16
[data]
batch = 1
[horizon]
steps = 1
[compute]
precision = "f32"
)",
                               "golden recipe");
  recipe.resolve(0);
  return recipe;
}

/// Numbers that are the same on every machine: exact in double, rounded once to float.
void fill_by_formula(Context& ctx, ParameterSet& parameters) {
  uint64_t salt = 0;
  for (Parameter& parameter : parameters.all()) {
    ++salt;
    const Tensor values = make_host_tensor(parameter.shape, DType::f32);
    for (int64_t i = 0; i < values.num_elements(); ++i) {
      const uint64_t mixed = (static_cast<uint64_t>(i) * 2654435761u + salt * 40503u) % 1000003u;
      const double centred = static_cast<double>(mixed) / 1000003.0 - 0.5;
      const bool is_gain = parameter.shape.rank() == 1;
      values.data<float>()[i] = static_cast<float>(is_gain ? 1.0 + 0.5 * centred : 0.4 * centred);
    }
    parameters.load(ctx, parameter, values);
  }
}

std::vector<float> compute_logits(Context& ctx, LanguageModel& model, const std::vector<int32_t>& ids) {
  const auto count = static_cast<int64_t>(ids.size());
  std::vector<int32_t> positions(ids.size());
  for (size_t i = 0; i < ids.size(); ++i) positions[i] = static_cast<int32_t>(i);
  ModelInput input;
  input.tokens = ctx.from_values<int32_t>({1, count}, std::span<const int32_t>(ids));
  input.positions = ctx.from_values<int32_t>({1, count}, std::span<const int32_t>(positions));
  const Tensor logits = model.logits(ctx, input, false);
  std::vector<float> values(static_cast<size_t>(logits.num_elements()));
  ctx.backend().read(logits, values.data());
  return values;
}

TEST(HubFolder, IsWhatTransformersLoadedAndGivesItsLogits) {
  const auto backend = make_cpu_backend();
  Context ctx(*backend);
  const Recipe recipe = golden_recipe();
  const Tokenizer tokenizer = byte_tokenizer();
  Trainer trainer(*backend, recipe, make_synthetic_training_data(recipe, tokenizer.vocab_size()));
  fill_by_formula(ctx, trainer.model().parameters());
  const TemporaryFolder folder;
  TrainerRecord record;
  record.recipe = recipe;
  const fs::path checkpoint = save_checkpoint(folder / "checkpoints", trainer, record, tokenizer);
  if (const char* keep = std::getenv("OWLET_KEEP_HUB_FOLDER")) {
    fs::copy(checkpoint, keep, fs::copy_options::recursive | fs::copy_options::overwrite_existing);
  }

  ASSERT_TRUE(fs::exists(kGolden));
  const Json golden = read_json(kGolden);
  for (const auto& [name, expected] : golden.at("files").items()) {
    const std::string content = read_file(checkpoint / name);
    EXPECT_EQ(crc32(std::as_bytes(std::span(content))), expected.get<uint32_t>())
        << name << " changed since transformers loaded it";
  }
  const auto ids = golden.at("ids").get<std::vector<int32_t>>();
  const auto expected = golden.at("logits").get<std::vector<std::vector<double>>>();
  const std::vector<float> logits = compute_logits(ctx, trainer.model(), ids);
  const auto vocab_size = static_cast<size_t>(tokenizer.vocab_size());
  ASSERT_EQ(logits.size(), ids.size() * vocab_size);
  double largest = 0, worst = 0;
  for (size_t row = 0; row < ids.size(); ++row) {
    for (size_t id = 0; id < vocab_size; ++id) {
      largest = std::max(largest, std::abs(expected[row][id]));
      worst = std::max(worst, std::abs(logits[row * vocab_size + id] - expected[row][id]));
    }
  }
  EXPECT_LT(worst / largest, 1e-5);
}

}  // namespace
}  // namespace owlet
