#include "infer/text_generator.hpp"

#include <algorithm>
#include <chrono>

#include "base/error.hpp"
#include "text/utf8.hpp"

namespace owlet {
namespace {

/// Tokens per prefill call: bounds the activations of a long prompt.
constexpr int64_t kPrefillChunk = 256;

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

std::string_view to_string(FinishReason reason) {
  switch (reason) {
    case FinishReason::stop:
      return "stop";
    case FinishReason::length:
      return "length";
    case FinishReason::cancelled:
      return "cancelled";
  }
  return "length";
}

double GenerationResult::tokens_per_second() const {
  const double num_decoded = static_cast<double>(ids.size()) - 1;
  if (num_decoded > 0 && decode_seconds > 0) return num_decoded / decode_seconds;
  return prefill_seconds > 0 ? static_cast<double>(ids.size()) / prefill_seconds : 0;
}

/// Scores after `ids`, which stand at `position` and up; returns (1, 1, V).
Tensor TextGenerator::logits_after(std::span<const int32_t> ids, int64_t position, KvCacheTensors& cache) {
  const auto count = static_cast<int64_t>(ids.size());
  std::vector<int32_t> positions(ids.size());
  for (int64_t i = 0; i < count; ++i) positions[static_cast<size_t>(i)] = static_cast<int32_t>(position + i);
  const int32_t length = static_cast<int32_t>(position + count);
  cache.lengths = ctx_.from_values<int32_t>({1}, std::span(&length, 1), MemoryKind::batch);
  ModelInput input;
  input.tokens = ctx_.from_values<int32_t>({1, count}, ids, MemoryKind::batch);
  input.positions = ctx_.from_values<int32_t>({1, count}, std::span<const int32_t>(positions), MemoryKind::batch);
  input.cache = &cache;
  return parts_.model.logits(ctx_, input, true);
}

Tensor TextGenerator::prefill(std::span<const int32_t> ids, KvCacheTensors& cache) {
  Tensor logits;
  const auto count = static_cast<int64_t>(ids.size());
  for (int64_t begin = 0; begin < count; begin += kPrefillChunk) {
    const auto length = static_cast<size_t>(std::min(kPrefillChunk, count - begin));
    logits = logits_after(ids.subspan(static_cast<size_t>(begin), length), begin, cache);
  }
  return logits;
}

void TextGenerator::decode(const GenerationOptions& options, int64_t max_tokens, Tensor logits, KvCacheTensors& cache,
                           const TextSink& sink, GenerationResult& result) {
  Sampler sampler(options.sampler, parts_.tokenizer.vocab_size());
  Utf8Stream characters;
  std::vector<int32_t> history = result.prompt_ids;
  std::vector<float> scores(static_cast<size_t>(parts_.model.vocab_size()));
  const auto emit = [&](const std::string& piece) {
    result.text += piece;
    return piece.empty() || !sink || sink(piece);
  };
  for (int64_t n = 0; n < max_tokens; ++n) {
    ctx_.backend().read(logits, scores.data());
    const int32_t id = sampler.sample(scores, history);
    if (std::ranges::find(parts_.end_ids, id) != parts_.end_ids.end()) {
      result.finish = FinishReason::stop;
      break;
    }
    result.ids.push_back(id);
    history.push_back(id);
    if (!emit(characters.push(parts_.tokenizer.token_bytes(id)))) {
      result.finish = FinishReason::cancelled;
      break;
    }
    const auto position = static_cast<int64_t>(history.size()) - 1;
    if (n + 1 < max_tokens) logits = logits_after(std::span(&id, 1), position, cache);
  }
  emit(characters.flush());
}

GenerationResult TextGenerator::generate(std::string_view prompt, const GenerationOptions& options,
                                         const TextSink& sink) {
  check(options.max_tokens >= 0, ErrorKind::invalid_argument, "max-tokens is {}, expected 0 or more",
        options.max_tokens);
  GenerationResult result;
  if (parts_.begin_id) result.prompt_ids.push_back(*parts_.begin_id);
  parts_.tokenizer.encode_append(prompt, result.prompt_ids, options.parses_special);
  const auto num_prompt = static_cast<int64_t>(result.prompt_ids.size());
  const int64_t context = parts_.model.max_context();
  check(num_prompt > 0, ErrorKind::invalid_argument,
        "the prompt is empty and this model has no token that begins a text");
  check(num_prompt < context, ErrorKind::invalid_argument, "the prompt has {} tokens, the model's context is {}",
        num_prompt, context);
  const int64_t max_tokens = std::min(options.max_tokens, context - num_prompt);
  if (max_tokens == 0) return result;

  const auto start = std::chrono::steady_clock::now();
  KvCacheTensors cache = parts_.model.make_cache(ctx_, 1, num_prompt + max_tokens);
  Tensor logits = prefill(result.prompt_ids, cache);
  result.prefill_seconds = seconds_since(start);
  decode(options, max_tokens, std::move(logits), cache, sink, result);
  result.decode_seconds = seconds_since(start) - result.prefill_seconds;
  return result;
}

}  // namespace owlet
