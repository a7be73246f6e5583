// Text generation for one sequence: prefill, one token at a time from the KV cache, text in whole characters.
//
//   TextGenerator generator(ctx, loaded);
//   GenerationResult result = generator.generate("Once upon a time", options, [](std::string_view piece) { … return
//   true; });
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "infer/sampler.hpp"
#include "models/language_model.hpp"
#include "text/tokenizer.hpp"

namespace owlet {

enum class FinishReason : uint8_t { stop, length, cancelled };
std::string_view to_string(FinishReason reason);

struct GenerationOptions {
  int64_t max_tokens = 128;
  SamplerOptions sampler;
  /// Read control tokens written out in the prompt as such.
  bool parses_special = false;
};

struct GenerationResult {
  /// What was generated, without the prompt; valid UTF-8.
  std::string text;
  std::vector<int32_t> prompt_ids, ids;
  FinishReason finish = FinishReason::length;
  double prefill_seconds = 0, decode_seconds = 0;
  /// Generated tokens over the time spent on them after the first.
  double tokens_per_second() const;
};

/// Called with each new piece of whole characters; false stops.
using TextSink = std::function<bool(std::string_view piece)>;

/// What a generator needs of a model; the parts must outlive it.
struct GenerationModel {
  LanguageModel& model;
  const Tokenizer& tokenizer;
  std::optional<int32_t> begin_id;
  std::vector<int32_t> end_ids;
};

/// Thread rule: one thread. The cache is made for each call and freed after it.
class TextGenerator {
 public:
  TextGenerator(Context& ctx, const GenerationModel& model) : ctx_(ctx), parts_(model) {}

  /// Throws Error invalid_argument when the prompt leaves no room in the model's context, naming both counts.
  /// Generation ends at an end token (stop), after max_tokens, or when the context is full (length).
  GenerationResult generate(std::string_view prompt, const GenerationOptions& options, const TextSink& sink = {});

 private:
  Tensor logits_after(std::span<const int32_t> ids, int64_t position, KvCacheTensors& cache);
  Tensor prefill(std::span<const int32_t> ids, KvCacheTensors& cache);
  void decode(const GenerationOptions& options, int64_t max_tokens, Tensor logits, KvCacheTensors& cache,
              const TextSink& sink, GenerationResult& result);

  Context& ctx_;
  GenerationModel parts_;
};

}  // namespace owlet
