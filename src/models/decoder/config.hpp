// DecoderConfig: one description for the GPT-2, Llama, Mistral, Qwen and GPT-J shapes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/json.hpp"
#include "nn/norm.hpp"
#include "ops/gelu.hpp"
#include "ops/rope.hpp"

namespace owlet {

enum class PositionKind : uint8_t { rope, learned };
enum class FeedForwardKind : uint8_t { swiglu, gelu };
/// The Hub's family, which decides config.json and tensor names.
enum class DecoderFamily : uint8_t { llama, gpt2, mistral, qwen2, gptj };

struct DecoderConfig {
  DecoderFamily family = DecoderFamily::llama;
  int64_t vocab_size = 0;
  int64_t width = 0;               // C
  int64_t num_layers = 0;          // L
  int64_t num_heads = 0;           // H
  int64_t num_kv_heads = 0;        // K; H is a multiple of K
  int64_t head_size = 0;           // D; usually C / H
  int64_t feed_forward_width = 0;  // F
  int64_t max_context = 0;
  NormKind norm = NormKind::rms_norm;
  float norm_eps = 1e-5f;
  PositionKind position = PositionKind::rope;
  RopeStyle rope_style = RopeStyle::halves;
  double rope_theta = 10000.0;
  int64_t rotary_size = 0;  // R <= D; 0 = D
  FeedForwardKind feed_forward = FeedForwardKind::swiglu;
  GeluKind gelu = GeluKind::tanh;
  bool has_qkv_bias = false;
  bool has_output_bias = false;  // attention output projection
  bool has_feed_forward_bias = false;
  bool has_head_bias = false;
  bool ties_embeddings = true;
  /// Attention and feed-forward read the same normed input and are added together (GPT-J).
  bool is_parallel_block = false;
  int64_t sliding_window = 0;  // 0 = none
  /// Standard deviation of normal initialisation.
  float initializer_range = 0.02f;

  /// Throws Error invalid_argument naming the field and both values. What passes can be written as the family's
  /// config.json.
  void check() const;
  int64_t num_parameters() const;
};

/// The Hub's model_type: "llama", "gpt2", "mistral", "qwen2", "gptj".
std::string_view to_string(DecoderFamily family);
/// Throws Error unsupported naming the families that there are.
DecoderFamily parse_decoder_family(std::string_view name);

/// Defaults of a family (norm, position, biases …); sizes stay 0.
DecoderConfig family_defaults(DecoderFamily family);

/// A config.json as transformers reads it, rope written in the old and the new spelling. Token ids below 0 are written
/// as null, because transformers would fill in ids of its own where they are missing. `dtype` is the type of the stored
/// weights: "float32" or "bfloat16" ("f32" and "bf16" are taken too). Throws what config.check() throws.
OrderedJson to_hub_config(const DecoderConfig& config, int bos_id, int eos_id, std::string_view dtype);
/// Reads config.json as transformers does, with its defaults for what is missing. Throws Error corrupt_file (missing or
/// wrong fields) or unsupported (unknown model_type, or fields that would change the result), naming `source` and
/// field.
DecoderConfig from_hub_config(const Json& config, std::string_view source);

}  // namespace owlet
