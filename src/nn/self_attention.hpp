// Causal self-attention with its four projections. Sources: Vaswani et al., arXiv:1706.03762; grouped heads:
// Ainslie et al., arXiv:2305.13245; rotary positions: Su et al., arXiv:2104.09864.
#pragma once

#include <string>

#include "nn/linear.hpp"
#include "ops/attention.hpp"
#include "ops/rope.hpp"

namespace owlet {

/// What attention knows of the tokens besides their vectors.
struct AttentionInput {
  /// (B, T) i32; read by rotary positions.
  Tensor positions;
  /// (B, T) i32 or undefined: index in the row of the first token of each token's document.
  Tensor document_starts;
  AttentionKind kind = AttentionKind::flash;
  /// This layer's keys and values so far (B, S, K, D) and the filled entries per row (B) i32 with the new tokens
  /// counted; undefined in training.
  Tensor key_cache, value_cache, kv_lengths;
};

/// Parameters and shape of one attention layer; copies share the parameters. The ParameterSet must outlive it.
struct SelfAttention {
  Linear query, key, value, output;
  int64_t num_heads = 0, num_kv_heads = 0, head_size = 0;  // H, K, D
  /// From make_rope_table; undefined: positions enter elsewhere.
  Tensor rope_table;
  RopeStyle rope_style = RopeStyle::halves;
  int64_t window = 0;

  /// x (B, T, C) -> (B, T, C).
  Tensor operator()(Context& ctx, const Tensor& x, const AttentionInput& input) const;
};

/// Shape and initialisation of SelfAttention's projections.
struct AttentionShape {
  int64_t width = 0, num_heads = 0, num_kv_heads = 0, head_size = 0;  // C, H, K, D
  bool has_qkv_bias = false, has_output_bias = false;
  /// Standard deviation of the matrices, and of the output projection, which ends in the residual sum.
  float deviation = 0.02f, output_deviation = 0.02f;
};

/// Adds "<name>.q_proj", "<name>.k_proj", "<name>.v_proj" and "<name>.o_proj". Set rope and window afterwards.
SelfAttention make_self_attention(Context& ctx, ParameterSet& parameters, const std::string& name,
                                  const AttentionShape& shape);

}  // namespace owlet
