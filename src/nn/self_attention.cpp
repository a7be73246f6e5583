#include "nn/self_attention.hpp"

#include <cmath>

namespace owlet {

namespace {

/// x (B, T, heads * D) -> (B, T, heads, D), the same memory.
Tensor split_heads(const Tensor& x, int64_t num_heads, int64_t head_size) {
  return x.reshape({x.dim(0), x.dim(1), num_heads, head_size});
}

}  // namespace

Tensor SelfAttention::operator()(Context& ctx, const Tensor& x, const AttentionInput& input) const {
  const int64_t H = num_heads, K = num_kv_heads, D = head_size;
  const auto turned = [&](Tensor heads) {
    return rope_table.defined() ? rope(ctx, heads, input.positions, rope_table, rope_style) : heads;
  };
  const auto attended = [&] {
    const Tensor q = turned(split_heads(query(ctx, x), H, D));  // (B, T, H, D)
    const Tensor k = turned(split_heads(key(ctx, x), K, D));    // (B, T, K, D)
    const Tensor v = split_heads(value(ctx, x), K, D);          // (B, T, K, D)
    const AttentionOptions options{input.kind, input.document_starts,
                                   static_cast<float>(1.0 / std::sqrt(static_cast<double>(D))), window};
    if (input.key_cache.defined()) {
      return cached_attention(ctx, q, k, v, input.key_cache, input.value_cache, input.kv_lengths, options);
    }
    return attention(ctx, q, k, v, options);
  };
  const Tensor y = attended();                                 // (B, T, H, D)
  return output(ctx, y.reshape({y.dim(0), y.dim(1), H * D}));  // (B, T, C)
}

SelfAttention make_self_attention(Context& ctx, ParameterSet& parameters, const std::string& name,
                                  const AttentionShape& s) {
  const auto projection = [&](const char* part, int64_t num_inputs, int64_t num_outputs, bool has_bias,
                              float deviation) {
    return make_linear(ctx, parameters, name + part, num_inputs, num_outputs, has_bias, deviation);
  };
  SelfAttention layer;
  layer.num_heads = s.num_heads;
  layer.num_kv_heads = s.num_kv_heads;
  layer.head_size = s.head_size;
  layer.query = projection(".q_proj", s.width, s.num_heads * s.head_size, s.has_qkv_bias, s.deviation);
  layer.key = projection(".k_proj", s.width, s.num_kv_heads * s.head_size, s.has_qkv_bias, s.deviation);
  layer.value = projection(".v_proj", s.width, s.num_kv_heads * s.head_size, s.has_qkv_bias, s.deviation);
  layer.output = projection(".o_proj", s.num_heads * s.head_size, s.width, s.has_output_bias, s.output_deviation);
  return layer;
}

}  // namespace owlet
