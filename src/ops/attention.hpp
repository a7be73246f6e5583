// Causal attention, block by block: no (T, T) matrix ever stands in memory.
// Sources: Vaswani et al., arXiv:1706.03762; Dao, arXiv:2307.08691 (FlashAttention-2); Ainslie et al., arXiv:2305.13245
// (grouped heads); Beltagy et al., arXiv:2004.05150 (sliding window).
//
// Query t of row b stands at position p = t in training and p = kv_lengths[b] - T + t with a cache. It sees the keys
//   s <= p,   s >= document_starts[b, t] (where given),   s > p - window (where window > 0).
//   score = scale * <q, k_s>,   y = sum_s softmax(score)_s v_s,   lse = log sum_s exp(score_s)
// Query head h uses key/value head h / (H / K).
//
// Backward, with P = exp(score - lse) and delta = <dy, y>:
//   dv_s = sum P dy,   dS = P * (<dy, v_s> - delta),   dq = scale * sum_s dS k_s,   dk_s = scale * sum dS q
#pragma once

#include "ops/context.hpp"
#include "ops/cost.hpp"

namespace owlet {

namespace op {

/// q, y (B, T, H, D); k, v (B, S, K, D) with H a multiple of K; f64/f32/bf16 alike. lse (B, H, T) f32 (f64 beside f64).
/// document_starts (B, T) i32 or undefined; kv_lengths (B) i32, T <= length <= S, or undefined (then S = T).
struct Attention {
  static constexpr std::string_view kName = "attention";
  Tensor q, k, v, y, lse;
  Tensor document_starts, kv_lengths;
  float scale = 1;
  int64_t window = 0;
  void check() const;
  Cost cost() const;
};

/// Gradients of Attention without a cache (S = T); dq, dk, dv of q's type.
struct AttentionGrad {
  static constexpr std::string_view kName = "attention_grad";
  Tensor dy, q, k, v, y, lse;
  Tensor document_starts;
  float scale = 1;
  int64_t window = 0;
  GradientSlot dq, dk, dv;
  void check() const;
  Cost cost() const;
};

/// The textbook form that keeps every probability: probabilities (B, H, T, T) of q's type. For teaching and comparison.
struct PlainAttention {
  static constexpr std::string_view kName = "plain_attention";
  Tensor q, k, v, y, probabilities;
  Tensor document_starts;
  float scale = 1;
  int64_t window = 0;
  void check() const;
  Cost cost() const;
};

struct PlainAttentionGrad {
  static constexpr std::string_view kName = "plain_attention_grad";
  Tensor dy, q, k, v, probabilities;
  float scale = 1;
  GradientSlot dq, dk, dv;
  void check() const;
  Cost cost() const;
};

/// cache[b, length[b] - T + t] = rows[b, t]: stores new keys or values behind those of earlier calls.
/// rows (B, T, K, D), cache (B, S, K, D) of the same type, kv_lengths (B) i32 counting the new rows.
struct CacheAppend {
  static constexpr std::string_view kName = "cache_append";
  Tensor rows, kv_lengths, cache;
  void check() const;
  Cost cost() const;
};

}  // namespace op

/// Which form of attention a model runs.
enum class AttentionKind : uint8_t { flash, plain };

struct AttentionOptions {
  AttentionKind kind = AttentionKind::flash;
  /// (B, T) i32: index in the row of the first token of each token's document; undefined: one document per row.
  Tensor document_starts;
  float scale = 1;
  /// Keys a query sees at most, itself included; 0 = all.
  int64_t window = 0;
};

/// q (B, T, H, D), k and v (B, T, K, D) -> (B, T, H, D).
Tensor attention(Context& ctx, const Tensor& q, const Tensor& k, const Tensor& v, const AttentionOptions& options);

/// Attention over a cache, for generation only: appends k and v (B, T, K, D) to the caches (B, S, K, D), then attends.
/// kv_lengths (B) i32 counts cached entries including the new ones.
Tensor cached_attention(Context& ctx, const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& k_cache,
                        const Tensor& v_cache, const Tensor& kv_lengths, const AttentionOptions& options);

}  // namespace owlet
