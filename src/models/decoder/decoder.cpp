#include "models/decoder/decoder.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <variant>

#include "base/error.hpp"
#include "nn/embedding.hpp"
#include "nn/feed_forward.hpp"
#include "nn/linear.hpp"
#include "nn/norm.hpp"
#include "nn/self_attention.hpp"
#include "ops/add.hpp"
#include "ops/any_op.hpp"
#include "ops/tape.hpp"

namespace owlet {

namespace {

/// One layer of the decoder. Parallel blocks (GPT-J) have no second norm.
struct Block {
  Norm attention_norm;
  SelfAttention attention;
  std::optional<Norm> feed_forward_norm;
  std::variant<SwiGluFeedForward, GeluFeedForward> feed_forward;

  /// x (B, T, C) -> (B, T, C).
  Tensor operator()(Context& ctx, const Tensor& x, const AttentionInput& seen) const {
    if (!feed_forward_norm) {
      const Tensor normed = attention_norm(ctx, x);                                               // (B, T, C)
      return add(ctx, x, add(ctx, attention(ctx, normed, seen), run_feed_forward(ctx, normed)));  // (B, T, C)
    }
    const Tensor h = add(ctx, x, attention(ctx, attention_norm(ctx, x), seen));  // (B, T, C)
    return add(ctx, h, run_feed_forward(ctx, (*feed_forward_norm)(ctx, h)));     // (B, T, C)
  }

 private:
  Tensor run_feed_forward(Context& ctx, const Tensor& x) const {
    return std::visit([&](const auto& network) { return network(ctx, x); }, feed_forward);
  }
};

class Decoder final : public LanguageModel {
 public:
  Decoder(Context& ctx, const DecoderConfig& config, const ParameterStorage& storage);

  ParameterSet& parameters() override { return parameters_; }
  int64_t vocab_size() const override { return config_.vocab_size; }
  int64_t max_context() const override { return config_.max_context; }
  Tensor hidden(Context& ctx, const ModelInput& input) override;
  const Parameter& output_head() const override { return *head_; }
  const Parameter* output_bias() const override { return head_bias_; }
  KvCacheTensors make_cache(Context& ctx, int64_t batch_size, int64_t capacity) const override;
  double training_flops_per_token() const override;

 private:
  Block make_block(Context& ctx, int64_t layer);
  void check_input(const ModelInput& input) const;
  AttentionInput attention_input(const ModelInput& input, size_t layer) const;

  DecoderConfig config_;
  ParameterSet parameters_;
  Tensor rope_table_;  // (P, R/2, 2), or undefined
  Embedding embed_tokens_;
  std::optional<Embedding> embed_positions_;
  std::vector<Block> blocks_;
  Norm final_norm_;
  const Parameter* head_ = nullptr;
  const Parameter* head_bias_ = nullptr;
};

Tensor Decoder::hidden(Context& ctx, const ModelInput& input) {
  check_input(input);
  Tensor x = embed_tokens_(ctx, input.tokens);                                       // (B, T, C)
  if (embed_positions_) x = add(ctx, x, (*embed_positions_)(ctx, input.positions));  // (B, T, C)
  const bool recomputes = run_options_.blocks_per_checkpoint > 0 && ctx.is_recording();
  const auto group_size = recomputes ? static_cast<size_t>(run_options_.blocks_per_checkpoint) : blocks_.size();
  for (size_t first = 0; first < blocks_.size(); first += group_size) {
    const auto group = [this, input, first, end = std::min(first + group_size, blocks_.size())](Context& c, Tensor y) {
      for (size_t layer = first; layer < end; ++layer) y = blocks_[layer](c, y, attention_input(input, layer));
      return y;
    };
    x = recomputes ? checkpoint(ctx, x, group) : group(ctx, std::move(x));  // (B, T, C)
  }
  return final_norm_(ctx, x);  // (B, T, C)
}

AttentionInput Decoder::attention_input(const ModelInput& input, size_t layer) const {
  AttentionInput seen{input.positions, input.document_starts, run_options_.attention, {}, {}, {}};
  if (input.cache != nullptr) {
    seen.key_cache = input.cache->keys[layer];
    seen.value_cache = input.cache->values[layer];
    seen.kv_lengths = input.cache->lengths;
  }
  return seen;
}

void Decoder::check_input(const ModelInput& input) const {
  check(input.tokens.defined() && input.tokens.shape().rank() == 2, ErrorKind::invalid_argument,
        "tokens are {}, expected i32 (B, T)", describe(input.tokens));
  check(input.positions.defined() && input.positions.shape() == input.tokens.shape(), ErrorKind::invalid_argument,
        "positions are {} for tokens {}", describe(input.positions), describe(input.tokens));
  check(input.tokens.dim(1) <= config_.max_context, ErrorKind::invalid_argument,
        "{} tokens per row, the model's context is {}", input.tokens.dim(1), config_.max_context);
  if (input.cache == nullptr) return;
  check(input.cache->keys.size() == blocks_.size() && input.cache->values.size() == blocks_.size(),
        ErrorKind::invalid_argument, "the cache has {} layers, the model {}", input.cache->keys.size(), blocks_.size());
  check(!input.document_starts.defined(), ErrorKind::invalid_argument,
        "a cache holds one document per row: document_starts cannot be given with it");
}

Decoder::Decoder(Context& ctx, const DecoderConfig& config, const ParameterStorage& storage)
    : config_(config), parameters_(storage) {
  const float deviation = config_.initializer_range;
  embed_tokens_ = make_embedding(ctx, parameters_, "model.embed_tokens", config_.vocab_size, config_.width, deviation);
  if (config_.position == PositionKind::learned) {
    embed_positions_ =
        make_embedding(ctx, parameters_, "model.embed_positions", config_.max_context, config_.width, deviation);
  } else {
    const int64_t rotary_size = config_.rotary_size == 0 ? config_.head_size : config_.rotary_size;
    rope_table_ = make_rope_table(ctx, config_.max_context, rotary_size, config_.rope_theta,
                                  storage.compute_type == DType::f64 ? DType::f64 : DType::f32);
  }
  for (int64_t layer = 0; layer < config_.num_layers; ++layer) blocks_.push_back(make_block(ctx, layer));
  final_norm_ = make_norm(ctx, parameters_, "model.norm", config_.norm, config_.width, config_.norm_eps);
  if (config_.ties_embeddings) {
    head_ = embed_tokens_.weight;
  } else {
    head_ = make_linear(ctx, parameters_, "lm_head", config_.width, config_.vocab_size, false, deviation).weight;
  }
  if (config_.has_head_bias) {
    head_bias_ = &parameters_.add(ctx, "lm_head.bias", {config_.vocab_size}, {Initialization::Kind::zeros});
  }
}

Block Decoder::make_block(Context& ctx, int64_t layer) {
  const DecoderConfig& c = config_;
  const std::string name = "model.layers." + std::to_string(layer);
  // GPT-2 starts what ends in the residual sum smaller, by the root of the number of summands (Radford et al. 2019,
  // section 2.3; transformers' GPT2PreTrainedModel._init_weights).
  const float residual_deviation = c.family == DecoderFamily::gpt2
                                       ? c.initializer_range / std::sqrt(static_cast<float>(2 * c.num_layers))
                                       : c.initializer_range;
  const FeedForwardShape feed_forward{c.width, c.feed_forward_width, c.has_feed_forward_bias, c.initializer_range,
                                      residual_deviation};
  Block block;
  block.attention_norm = make_norm(ctx, parameters_, name + ".input_layernorm", c.norm, c.width, c.norm_eps);
  block.attention = make_self_attention(ctx, parameters_, name + ".self_attn",
                                        {c.width, c.num_heads, c.num_kv_heads, c.head_size, c.has_qkv_bias,
                                         c.has_output_bias, c.initializer_range, residual_deviation});
  block.attention.rope_table = rope_table_;
  block.attention.rope_style = c.rope_style;
  block.attention.window = c.sliding_window;
  if (!c.is_parallel_block) {
    block.feed_forward_norm =
        make_norm(ctx, parameters_, name + ".post_attention_layernorm", c.norm, c.width, c.norm_eps);
  }
  if (c.feed_forward == FeedForwardKind::swiglu) {
    block.feed_forward = make_swiglu_feed_forward(ctx, parameters_, name + ".mlp", feed_forward);
  } else {
    block.feed_forward = make_gelu_feed_forward(ctx, parameters_, name + ".mlp", feed_forward, c.gelu);
  }
  return block;
}

KvCacheTensors Decoder::make_cache(Context& ctx, int64_t batch_size, int64_t capacity) const {
  check(batch_size >= 1 && capacity >= 1 && capacity <= config_.max_context, ErrorKind::invalid_argument,
        "a cache of {} rows and {} tokens, expected at least 1 row and 1 to {} tokens", batch_size, capacity,
        config_.max_context);
  KvCacheTensors cache;
  const Shape shape{batch_size, capacity, config_.num_kv_heads, config_.head_size};  // (B, S, K, D)
  for (size_t layer = 0; layer < blocks_.size(); ++layer) {
    cache.keys.push_back(ctx.empty(shape, parameters_.storage().compute_type, MemoryKind::cache));
    cache.values.push_back(ctx.empty(shape, parameters_.storage().compute_type, MemoryKind::cache));
  }
  cache.lengths = ctx.empty({batch_size}, DType::i32, MemoryKind::cache);
  ctx.run(op::Fill{cache.lengths, 0.0f});
  return cache;
}

double Decoder::training_flops_per_token() const {
  int64_t count = 0;
  for (const Parameter& parameter : parameters_.all()) {
    const bool is_table =
        &parameter == embed_tokens_.weight || (embed_positions_.has_value() && &parameter == embed_positions_->weight);
    const bool is_matrix = parameter.shape.rank() >= 2;
    if (is_matrix && (!is_table || &parameter == head_)) count += parameter.shape.num_elements();
  }
  return 6.0 * static_cast<double>(count);
}

}  // namespace

std::unique_ptr<LanguageModel> make_decoder(Context& ctx, const DecoderConfig& config,
                                            const ParameterStorage& storage) {
  config.check();
  return std::make_unique<Decoder>(ctx, config, storage);
}

}  // namespace owlet
