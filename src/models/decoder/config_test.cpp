#include "models/decoder/config.hpp"

#include <gtest/gtest.h>

#include <string>

#include "base/error.hpp"
#include "base/json.hpp"
#include "tests/support/golden_model.hpp"

namespace owlet {
namespace {

/// The smallest config.json of each family, as people write them by hand.
Json minimal(const std::string& model_type) {
  if (model_type == "gpt2" || model_type == "gptj") {
    return {{"model_type", model_type}, {"vocab_size", 50}, {"n_embd", 32}, {"n_layer", 2}, {"n_head", 4},
            {"n_positions", 64},        {"rotary_dim", 4}};
  }
  return {{"model_type", model_type}, {"vocab_size", 50},
          {"hidden_size", 32},        {"intermediate_size", 64},
          {"num_hidden_layers", 2},   {"num_attention_heads", 4},
          {"num_key_value_heads", 2}, {"max_position_embeddings", 64}};
}

DecoderConfig read(const Json& json) { return from_hub_config(json, "test/config.json"); }

/// The message of the error that reading throws; empty if it does not.
std::string refusal(const Json& json, ErrorKind* kind = nullptr) {
  try {
    read(json);
  } catch (const Error& error) {
    if (kind != nullptr) *kind = error.kind();
    return error.what();
  }
  return "";
}

Json reread(const DecoderConfig& config) { return Json::parse(dump_json(to_hub_config(config, 1, 2, "f32"))); }

TEST(HubConfig, MissingFieldsAreThoseOfTransformers) {
  const DecoderConfig llama = read(minimal("llama"));
  EXPECT_EQ(llama.norm_eps, 1e-6f);
  EXPECT_EQ(llama.rope_theta, 10000.0);
  EXPECT_EQ(llama.head_size, 8);
  EXPECT_FALSE(llama.ties_embeddings);
  EXPECT_FALSE(llama.has_qkv_bias);
  Json without_groups = minimal("llama");
  without_groups.erase("num_key_value_heads");
  EXPECT_EQ(read(without_groups).num_kv_heads, 4);

  const DecoderConfig gpt2 = read(minimal("gpt2"));
  EXPECT_EQ(gpt2.feed_forward_width, 128);
  EXPECT_TRUE(gpt2.ties_embeddings);
  EXPECT_EQ(gpt2.gelu, GeluKind::tanh);
  EXPECT_EQ(gpt2.norm_eps, 1e-5f);

  const DecoderConfig gptj = read(minimal("gptj"));
  EXPECT_TRUE(gptj.is_parallel_block);
  EXPECT_TRUE(gptj.has_head_bias);
  EXPECT_FALSE(gptj.ties_embeddings);
  EXPECT_EQ(gptj.rotary_size, 4);
  EXPECT_EQ(gptj.rope_style, RopeStyle::pairs);
}

TEST(HubConfig, SlidingWindows) {
  Json mistral = minimal("mistral");
  EXPECT_EQ(read(mistral).sliding_window, 4096);
  mistral["sliding_window"] = nullptr;
  EXPECT_EQ(read(mistral).sliding_window, 0);
  mistral["sliding_window"] = 7;
  EXPECT_EQ(read(mistral).sliding_window, 7);

  Json qwen2 = minimal("qwen2");
  EXPECT_TRUE(read(qwen2).has_qkv_bias);
  qwen2["sliding_window"] = 16;
  EXPECT_EQ(read(qwen2).sliding_window, 0);
  qwen2["use_sliding_window"] = true;
  EXPECT_EQ(read(qwen2).sliding_window, 0) << "max_window_layers is 28 of 2";
  qwen2["max_window_layers"] = 0;
  EXPECT_EQ(read(qwen2).sliding_window, 16);
  qwen2["max_window_layers"] = 1;
  EXPECT_NE(refusal(qwen2).find("max_window_layers"), std::string::npos);

  Json mixed = minimal("llama");
  mixed["layer_types"] = {"full_attention", "sliding_attention"};
  EXPECT_NE(refusal(mixed).find("layer_types"), std::string::npos);
}

TEST(HubConfig, ReadsBothSpellingsOfRope) {
  Json old_spelling = minimal("llama");
  old_spelling["rope_theta"] = 5e5;
  old_spelling["rope_scaling"] = nullptr;
  EXPECT_EQ(read(old_spelling).rope_theta, 5e5);
  Json new_spelling = minimal("llama");
  new_spelling["rope_parameters"] = {{"rope_type", "default"}, {"rope_theta", 5e5}};
  EXPECT_EQ(read(new_spelling).rope_theta, 5e5);
  Json without_theta = minimal("llama");
  without_theta["rope_theta"] = 5e5;
  without_theta["rope_parameters"] = {{"rope_type", "default"}};
  EXPECT_EQ(read(without_theta).rope_theta, 5e5);
}

TEST(HubConfig, RefusesOtherRotations) {
  const std::vector<std::pair<std::string, Json>> ropes = {
      {"rope_scaling", {{"type", "linear"}, {"factor", 4.0}}},
      {"rope_scaling", {{"rope_type", "llama3"}, {"factor", 8.0}}},
      {"rope_parameters", {{"rope_type", "yarn"}, {"rope_theta", 5e5}}},
      {"rope_parameters", {{"rope_theta", 5e5}, {"partial_rotary_factor", 0.5}}},
      {"rope_parameters", {{"full_attention", {{"rope_type", "default"}}}}},
      {"rope_parameters", 3},
      {"partial_rotary_factor", 0.5},
  };
  for (const auto& [key, value] : ropes) {
    Json json = minimal("llama");
    json[key] = value;
    const std::string message = refusal(json);
    EXPECT_NE(message.find(key), std::string::npos) << message;
    EXPECT_NE(message.find("test/config.json"), std::string::npos) << message;
  }
}

TEST(HubConfig, RefusesWhatWouldChangeTheResult) {
  ErrorKind kind{};
  EXPECT_NE(refusal({{"model_type", "bert"}}, &kind).find("bert"), std::string::npos);
  EXPECT_EQ(kind, ErrorKind::unsupported);
  EXPECT_NE(refusal(Json::object(), &kind).find("model_type"), std::string::npos);
  EXPECT_EQ(kind, ErrorKind::corrupt_file);
  const std::vector<std::tuple<std::string, std::string, Json>> fields = {
      {"llama", "hidden_act", "gelu"},
      {"llama", "quantization_config", {{"bits", 4}}},
      {"gpt2", "activation_function", "relu"},
      {"gpt2", "scale_attn_weights", false},
      {"gpt2", "scale_attn_by_inverse_layer_idx", true},
      {"gpt2", "add_cross_attention", true},
  };
  for (const auto& [family, key, value] : fields) {
    Json json = minimal(family);
    json[key] = value;
    EXPECT_NE(refusal(json, &kind).find(key), std::string::npos) << key;
    EXPECT_EQ(kind, ErrorKind::unsupported) << key;
  }
}

TEST(HubConfig, RefusesImpossibleNumbers) {
  const std::vector<std::tuple<std::string, std::string, Json>> fields = {
      {"llama", "hidden_size", 0},
      {"llama", "hidden_size", -32},
      {"llama", "hidden_size", 33},
      {"llama", "hidden_size", "32"},
      {"llama", "num_attention_heads", 0},
      {"llama", "num_key_value_heads", 3},
      {"llama", "num_key_value_heads", 0},
      {"llama", "vocab_size", int64_t{1} << 60},
      {"llama", "num_hidden_layers", 1e30},
      {"llama", "num_hidden_layers", int64_t{1} << 40},
      {"llama", "rms_norm_eps", -1.0},
      {"llama", "rope_theta", 0.0},
      {"llama", "head_dim", 7},
      {"llama", "head_dim", int64_t{1} << 60},
      {"gpt2", "n_embd", int64_t{1} << 61},
      {"gpt2", "n_head", 5},
      {"gptj", "rotary_dim", 9},
      {"gptj", "rotary_dim", 3},
      {"mistral", "sliding_window", -1},
  };
  for (const auto& [family, key, value] : fields) {
    Json json = minimal(family);
    json[key] = value;
    ErrorKind kind{};
    EXPECT_NE(refusal(json, &kind), "") << key << " " << value;
    EXPECT_EQ(kind, ErrorKind::corrupt_file) << key << " " << value;
  }
}

TEST(HubConfig, WhatIsWrittenIsReadBack) {
  for (const char* family : {"llama", "gpt2", "mistral", "qwen2", "gptj"}) {
    Json json = minimal(family);
    json["tie_word_embeddings"] = true;
    json["initializer_range"] = 0.01;
    json["sliding_window"] = 5;
    json["use_sliding_window"] = true;
    json["max_window_layers"] = 0;
    json["rope_theta"] = 25000.0;
    json["attention_bias"] = json["mlp_bias"] = std::string_view(family) == "llama";
    json["activation_function"] = "gelu";
    DecoderConfig config = read(json);
    if (config.family == DecoderFamily::gptj) config.rope_theta = 10000.0;
    const DecoderConfig again = read(reread(config));
    EXPECT_EQ(dump_json(to_hub_config(again, 1, 2, "f32")), dump_json(to_hub_config(config, 1, 2, "f32"))) << family;
    EXPECT_EQ(again.sliding_window, config.sliding_window) << family;
    EXPECT_EQ(again.has_qkv_bias, config.has_qkv_bias) << family;
    EXPECT_EQ(again.initializer_range, 0.01f) << family;
    EXPECT_EQ(again.num_parameters(), config.num_parameters()) << family;
    EXPECT_TRUE(again.ties_embeddings) << family;
  }
}

TEST(HubConfig, WritesBothSpellingsAndPlainDecimals) {
  const Json json = reread(read(minimal("llama")));
  EXPECT_EQ(json["rope_theta"], 10000.0);
  EXPECT_EQ(json["rope_parameters"]["rope_theta"], 10000.0);
  EXPECT_EQ(json["rope_parameters"]["rope_type"], "default");
  EXPECT_EQ(json["initializer_range"].dump(), "0.02");
  EXPECT_EQ(json["rms_norm_eps"].get<double>(), 1e-6);
  EXPECT_EQ(json["dtype"], "float32");
  EXPECT_EQ(json["torch_dtype"], "float32");
  EXPECT_EQ(json["bos_token_id"], 1);
  EXPECT_TRUE(to_hub_config(read(minimal("llama")), -1, -1, "bf16")["eos_token_id"].is_null());
}

TEST(HubConfig, AgreesWithTransformersOwnFile) {
  for (const char* name : {"llama", "llama_untied_biases", "mistral", "qwen2", "gpt2", "gptj"}) {
    const testing::GoldenModel golden(name);
    const Json ours = reread(golden.config);
    for (const auto& [key, value] : golden.json["config"].items()) {
      // What we leave out is what transformers fills in by itself.
      const bool is_left_out = key == "transformers_version" || key.starts_with("summary_") || key == "layer_types" ||
                               key == "pad_token_id" || key == "add_cross_attention" || key == "attn_implementation" ||
                               key.starts_with("scale_attn") || key == "reorder_and_upcast_attn";
      if (is_left_out || key == "n_inner" || key == "max_window_layers") continue;
      EXPECT_TRUE(ours.contains(key)) << name << ": " << key;
      if (!ours.contains(key)) continue;
      if (value.is_number_float()) {
        EXPECT_NEAR(ours[key].get<double>(), value.get<double>(), 1e-7 * value.get<double>()) << name << ": " << key;
      } else if (key != "dtype") {
        EXPECT_EQ(ours[key], value) << name << ": " << key;
      }
    }
  }
}

TEST(DecoderConfig, AFamilyOnlyTakesWhatItsFileCanSay) {
  const auto refuses = [](const std::string& family, const std::function<void(DecoderConfig&)>& change) {
    DecoderConfig config = read(minimal(family));
    change(config);
    EXPECT_THROW(config.check(), Error) << family;
  };
  refuses("llama", [](DecoderConfig& c) { c.norm = NormKind::layer_norm; });
  refuses("llama", [](DecoderConfig& c) { c.position = PositionKind::learned; });
  refuses("llama", [](DecoderConfig& c) { c.feed_forward = FeedForwardKind::gelu; });
  refuses("llama", [](DecoderConfig& c) { c.has_qkv_bias = true; });
  refuses("llama", [](DecoderConfig& c) { c.sliding_window = 8; });
  refuses("llama", [](DecoderConfig& c) { c.has_head_bias = true; });
  refuses("llama", [](DecoderConfig& c) { c.rope_style = RopeStyle::pairs; });
  refuses("llama", [](DecoderConfig& c) { c.rotary_size = 4; });
  refuses("llama", [](DecoderConfig& c) { c.is_parallel_block = true; });
  refuses("qwen2", [](DecoderConfig& c) { c.has_qkv_bias = false; });
  refuses("gpt2", [](DecoderConfig& c) { c.num_kv_heads = 2; });
  refuses("gpt2", [](DecoderConfig& c) { c.head_size = 4; });
  refuses("gptj", [](DecoderConfig& c) { c.rope_theta = 5e5; });
  refuses("gptj", [](DecoderConfig& c) { c.is_parallel_block = false; });
}

TEST(DecoderConfig, FamiliesHaveNames) {
  for (const DecoderFamily family :
       {DecoderFamily::llama, DecoderFamily::gpt2, DecoderFamily::mistral, DecoderFamily::qwen2, DecoderFamily::gptj}) {
    EXPECT_EQ(parse_decoder_family(to_string(family)), family);
  }
  EXPECT_THROW(parse_decoder_family("bert"), Error);
}

}  // namespace
}  // namespace owlet
