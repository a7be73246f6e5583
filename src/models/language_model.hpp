// LanguageModel: what trainer, engine and exporter know of a model.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "nn/parameter_set.hpp"
#include "ops/attention.hpp"
#include "ops/context.hpp"

namespace owlet {

/// Keys and values of the tokens so far, per layer (B, S, K, D), and how many of the S entries each row has filled.
/// The engine owns one and sets `lengths` (B) i32 to include the new tokens before each call.
struct KvCacheTensors {
  std::vector<Tensor> keys, values;
  Tensor lengths;
};

/// One batch of tokens as tensors of the backend.
struct ModelInput {
  /// (B, T) i32.
  Tensor tokens;
  /// (B, T) i32: position of each token in its document (or sequence).
  Tensor positions;
  /// (B, T) i32 or undefined: index in the row of the first token of each token's document.
  Tensor document_starts;
  /// Null in training.
  KvCacheTensors* cache = nullptr;
};

/// Switches of how a model runs that change memory or time but not what it computes.
struct ModelRunOptions {
  AttentionKind attention = AttentionKind::flash;
  /// Blocks per group whose activations are recomputed together in the backward pass, so that only the group's input
  /// is kept; 0: keep all activations.
  int64_t blocks_per_checkpoint = 0;
  /// Tokens per chunk of the output head.
  int64_t loss_chunk_rows = 512;
};

/// A decoder-only language model. Used by one thread at a time.
class LanguageModel {
 public:
  virtual ~LanguageModel() = default;

  virtual ParameterSet& parameters() = 0;
  virtual int64_t vocab_size() const = 0;
  virtual int64_t max_context() const = 0;

  /// Last hidden states after the final norm, (B, T, C).
  virtual Tensor hidden(Context& ctx, const ModelInput& input) = 0;
  /// Weight of the output head, (V, C), as operations read it.
  virtual const Parameter& output_head() const = 0;
  /// Bias of the output head, (V), or null.
  virtual const Parameter* output_bias() const { return nullptr; }

  /// Loss of each token in nats, (B, T) f32 (f64 in an f64 model); targets (B, T) i32 with -1 for "not scored". While
  /// recording, gradients of gradient_scale * sum of losses are prepared: continue with tape.backward(ctx, losses).
  /// Throws Error unsupported for a model with output_bias().
  Tensor losses(Context& ctx, const ModelInput& input, const Tensor& targets, float gradient_scale);
  /// Scores of the next token in f32 (f64 in an f64 model), (B, T, V), or (B, 1, V) for the last position only.
  Tensor logits(Context& ctx, const ModelInput& input, bool last_only);

  /// Keys and values for `batch_size` sequences of up to `capacity` tokens, empty.
  virtual KvCacheTensors make_cache(Context& ctx, int64_t batch_size, int64_t capacity) const = 0;

  /// FLOPs of forward and backward per token by the usual rule: 6 per parameter of non-embedding matrices and output
  /// head.
  virtual double training_flops_per_token() const = 0;

  const ModelRunOptions& run_options() const { return run_options_; }
  void set_run_options(const ModelRunOptions& options) { run_options_ = options; }

 protected:
  ModelRunOptions run_options_;
};

}  // namespace owlet
