#include "infer/text_generator.hpp"

#include <gtest/gtest.h>

#include "backends/cpu/cpu_backend.hpp"
#include "base/atomic_file.hpp"
#include "base/error.hpp"
#include "base/json.hpp"
#include "base/temporary_folder.hpp"
#include "formats/safetensors.hpp"
#include "infer/loaded_model.hpp"
#include "models/decoder/checkpoint_names.hpp"
#include "models/decoder/decoder.hpp"
#include "text/utf8.hpp"

namespace owlet {
namespace {

DecoderConfig tiny_config() {
  DecoderConfig config = family_defaults(DecoderFamily::llama);
  config.vocab_size = 257;
  config.width = 32;
  config.num_layers = 2;
  config.num_heads = 4;
  config.num_kv_heads = 2;
  config.head_size = 8;
  config.feed_forward_width = 48;
  config.max_context = 48;
  config.initializer_range = 0.3f;
  return config;
}

class TextGeneratorTest : public ::testing::Test {
 protected:
  TextGeneratorTest() : model_(make_decoder(ctx_, tiny_config(), {.compute_type = DType::f32})) {
    model_->parameters().initialize(ctx_, 5);
  }
  GenerationResult generate(const std::string& prompt, GenerationOptions options, const TextSink& sink = {},
                            std::vector<int32_t> end_ids = {}) {
    TextGenerator generator(ctx_, {*model_, tokenizer_, 256, std::move(end_ids)});
    return generator.generate(prompt, options, sink);
  }

  std::unique_ptr<Backend> backend_ = make_cpu_backend();
  Context ctx_{*backend_};
  Tokenizer tokenizer_ = byte_tokenizer();
  std::unique_ptr<LanguageModel> model_;
};

GenerationOptions random_options(int64_t max_tokens, uint64_t seed = 1) {
  GenerationOptions options;
  options.max_tokens = max_tokens;
  options.sampler.temperature = 1;
  options.sampler.seed = seed;
  return options;
}

TEST_F(TextGeneratorTest, GreedyTokensAreThoseOfTheFullForwardPass) {
  GenerationOptions options;
  options.max_tokens = 20;
  options.sampler.temperature = 0;
  const GenerationResult result = generate("Hello", options);
  std::vector<int32_t> ids = result.prompt_ids;
  EXPECT_EQ(ids, (std::vector<int32_t>{256, 'H', 'e', 'l', 'l', 'o'}));
  for (int32_t generated : result.ids) {
    std::vector<int32_t> positions(ids.size());
    for (size_t i = 0; i < ids.size(); ++i) positions[i] = static_cast<int32_t>(i);
    const auto count = static_cast<int64_t>(ids.size());
    ModelInput input;
    input.tokens = ctx_.from_values<int32_t>({1, count}, std::span<const int32_t>(ids));
    input.positions = ctx_.from_values<int32_t>({1, count}, std::span<const int32_t>(positions));
    std::vector<float> scores(257);
    ctx_.backend().read(model_->logits(ctx_, input, true), scores.data());
    ASSERT_EQ(generated, std::max_element(scores.begin(), scores.end()) - scores.begin());
    ids.push_back(generated);
  }
}

TEST_F(TextGeneratorTest, StopsAtTheContextWithLength) {
  const GenerationResult result = generate("0123456789", random_options(600));
  EXPECT_EQ(result.finish, FinishReason::length);
  EXPECT_EQ(result.prompt_ids.size() + result.ids.size(), 48u);
}

TEST_F(TextGeneratorTest, RefusesAPromptThatFillsTheContextNamingBothCounts) {
  try {
    generate(std::string(60, 'x'), random_options(1));
    FAIL() << "expected an Error";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "the prompt has 61 tokens, the model's context is 48");
  }
  EXPECT_NO_THROW(generate(std::string(46, 'x'), random_options(1)));
  EXPECT_THROW(generate(std::string(47, 'x'), random_options(1)), Error);
}

TEST_F(TextGeneratorTest, SameSeedSameTextOtherSeedOtherText) {
  EXPECT_EQ(generate("a", random_options(30, 3)).ids, generate("a", random_options(30, 3)).ids);
  EXPECT_NE(generate("a", random_options(30, 3)).ids, generate("a", random_options(30, 4)).ids);
}

TEST_F(TextGeneratorTest, PiecesAreWholeCharactersAndJoinToTheText) {
  std::string joined;
  const GenerationResult result = generate("a", random_options(40, 9), [&](std::string_view piece) {
    EXPECT_TRUE(is_valid_utf8(piece));
    joined += piece;
    return true;
  });
  EXPECT_EQ(joined, result.text);
  // Random bytes are hardly ever valid text: replaced, never lost.
  EXPECT_NE(result.text.find("\uFFFD"), std::string::npos);
}

TEST_F(TextGeneratorTest, EndTokenStopsAndIsNotText) {
  const GenerationResult free = generate("a", random_options(10, 2));
  const GenerationResult stopped = generate("a", random_options(10, 2), {}, {free.ids[4]});
  EXPECT_EQ(stopped.finish, FinishReason::stop);
  EXPECT_LE(stopped.ids.size(), 4u);
}

TEST_F(TextGeneratorTest, SinkCanStop) {
  int num_pieces = 0;
  const GenerationResult result =
      generate("a", random_options(40, 9), [&](std::string_view) { return ++num_pieces < 3; });
  EXPECT_EQ(result.finish, FinishReason::cancelled);
  EXPECT_EQ(num_pieces, 3);
}

TEST_F(TextGeneratorTest, EmptyPromptNeedsABeginToken) {
  EXPECT_EQ(generate("", random_options(3)).prompt_ids, std::vector<int32_t>{256});
  TextGenerator generator(ctx_, {*model_, tokenizer_, {}, {}});
  EXPECT_THROW(generator.generate("", random_options(3)), Error);
}

/// Writes the model as a Hugging Face folder.
void write_folder(Context& ctx, LanguageModel& model, const Tokenizer& tokenizer, const std::filesystem::path& folder) {
  std::vector<SafetensorsItem> items;
  std::vector<Tensor> kept;
  export_weights(ctx, tiny_config(), model.parameters(), DType::f32, [&](const NamedTensor& tensor) {
    const Tensor copy = make_host_tensor(tensor.values.shape(), DType::f32);
    std::copy_n(tensor.values.data<float>(), copy.num_elements(), copy.data<float>());
    kept.push_back(copy);
    const auto dims = copy.shape().dims();
    items.push_back({tensor.name, "F32", {dims.begin(), dims.end()}, [copy] {
                       return std::span<const std::byte>(copy.bytes(), copy.size_bytes());
                     }});
  });
  write_safetensors(folder / "model.safetensors", items);
  write_file_atomically(folder / "config.json", dump_json(to_hub_config(tiny_config(), 256, 256, "float32")));
  tokenizer.save(folder);
}

TEST_F(TextGeneratorTest, LoadedFolderGeneratesTheSame) {
  const TemporaryFolder folder;
  write_folder(ctx_, *model_, tokenizer_, folder.path());
  LoadedModel loaded = load_model(ctx_, folder.path(), {.compute_type = DType::f32});
  EXPECT_EQ(loaded.begin_id, 256);
  EXPECT_EQ(loaded.end_ids, std::vector<int32_t>{256});
  TextGenerator generator(ctx_, {*loaded.model, loaded.tokenizer, loaded.begin_id, {}});
  EXPECT_EQ(generator.generate("Hi", random_options(20)).ids, generate("Hi", random_options(20)).ids);
}

TEST_F(TextGeneratorTest, DamagedFoldersAreNamed) {
  const TemporaryFolder folder;
  EXPECT_THROW(load_model(ctx_, folder / "nowhere", {}), Error);
  EXPECT_THROW(load_model(ctx_, folder.path(), {}), Error);
  write_folder(ctx_, *model_, tokenizer_, folder.path());
  const std::string weights = read_file(folder / "model.safetensors");
  write_file_atomically(folder / "model.safetensors", weights.substr(0, weights.size() - 8));
  try {
    load_model(ctx_, folder.path(), {});
    FAIL() << "expected an Error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::corrupt_file);
    EXPECT_NE(std::string(error.what()).find("model.safetensors"), std::string::npos);
  }
}

}  // namespace
}  // namespace owlet
