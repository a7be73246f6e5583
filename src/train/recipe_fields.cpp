#include "train/recipe_fields.hpp"

#include <fmt/format.h>

#include <charconv>

namespace owlet {
namespace {

/// A choice among values of an enumeration (or any comparable type), spelled by `words` in the same order.
template <typename T>
RecipeChoice choice(T& value, std::vector<std::string_view> words, std::vector<T> values) {
  const auto get = [&value, values] {
    size_t index = 0;
    while (index + 1 < values.size() && values[index] != value) ++index;
    return index;
  };
  const auto set = [&value, values](size_t index) { value = values[index]; };
  return {std::move(words), get, set};
}

RecipeChoice family_choice(DecoderFamily& family) {
  const std::vector<DecoderFamily> families{DecoderFamily::llama, DecoderFamily::gpt2, DecoderFamily::mistral,
                                            DecoderFamily::qwen2, DecoderFamily::gptj};
  std::vector<std::string_view> words;
  for (const DecoderFamily each : families) words.push_back(to_string(each));
  return choice(family, words, families);
}

/// "off", "block", or "every N" with N in [1, kMostBlocks].
RecipePhrase checkpointing_phrase(int64_t& blocks) {
  constexpr int64_t kMostBlocks = int64_t{1} << 24;
  const auto get = [&blocks]() -> std::string {
    if (blocks == 0) return "off";
    return blocks == 1 ? "block" : fmt::format("every {}", blocks);
  };
  const auto set = [&blocks](std::string_view text) {
    constexpr std::string_view kEvery = "every ";
    int64_t number = text == "off" ? 0 : 1;
    if (text.starts_with(kEvery)) {
      const std::string_view digits = text.substr(kEvery.size());
      const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
      if (error != std::errc() || end != digits.data() + digits.size()) return false;
      if (number < 1 || number > kMostBlocks) return false;
    } else if (text != "off" && text != "block") {
      return false;
    }
    blocks = number;
    return true;
  };
  return {"'off', 'block' or 'every N' (blocks, at least 1)", get, set};
}

}  // namespace

std::string_view to_string(ScheduleKind kind) {
  switch (kind) {
    case ScheduleKind::cosine:
      return "cosine";
    case ScheduleKind::wsd:
      return "wsd";
    case ScheduleKind::constant:
      return "constant";
  }
  return "?";
}

std::string_view to_string(OptimizerKind kind) { return kind == OptimizerKind::adamw ? "adamw" : "adamw8bit"; }

std::vector<RecipeField> recipe_fields(Recipe& r) {
  return {
      {"", "description", &r.description},
      {"", "seed", &r.seed},

      {"model", "family", family_choice(r.model.family)},
      {"model", "vocab", &r.model.vocab},
      {"model", "width", &r.model.width},
      {"model", "layers", &r.model.layers},
      {"model", "heads", &r.model.heads},
      {"model", "kv_heads", &r.model.kv_heads},
      {"model", "feed_forward", &r.model.feed_forward},
      {"model", "context", &r.model.context},
      {"model", "tied", &r.model.tied},
      {"model", "rope_theta", &r.model.rope_theta},
      {"model", "window", &r.model.window},
      {"model", "initializer_range", &r.model.initializer_range},

      {"data", "batch", &r.data.batch},
      {"data", "accumulation", &r.data.accumulation},
      {"data", "cross_documents", &r.data.cross_documents},
      {"data", "seed", &r.data.seed},

      {"optimizer", "kind",
       choice(r.optimizer.kind, {"adamw", "adamw8bit"}, {OptimizerKind::adamw, OptimizerKind::adamw8bit})},
      {"optimizer", "learning_rate", &r.optimizer.learning_rate},
      {"optimizer", "beta1", &r.optimizer.beta1},
      {"optimizer", "beta2", &r.optimizer.beta2},
      {"optimizer", "eps", &r.optimizer.eps},
      {"optimizer", "weight_decay", &r.optimizer.weight_decay},
      {"optimizer", "clip", &r.optimizer.clip},
      {"optimizer", "skip_limit", &r.optimizer.skip_limit},
      {"optimizer", "in_backward", &r.optimizer.in_backward},

      {"schedule", "kind",
       choice(r.schedule.kind, {"cosine", "wsd", "constant"},
              {ScheduleKind::cosine, ScheduleKind::wsd, ScheduleKind::constant})},
      {"schedule", "warmup_steps", &r.schedule.warmup_steps},
      {"schedule", "min_lr_ratio", &r.schedule.min_lr_ratio},
      {"schedule", "decay_fraction", &r.schedule.decay_fraction},

      {"horizon", "steps", &r.horizon.steps},
      {"horizon", "tokens", &r.horizon.tokens},
      {"horizon", "epochs", &r.horizon.epochs},

      {"compute", "precision", choice(r.compute.precision, {"bf16", "f32"}, {DType::bf16, DType::f32})},
      {"compute", "weights", choice(r.compute.weights, {"f32", "bf16"}, {DType::f32, DType::bf16})},
      {"compute", "attention",
       choice(r.compute.attention, {"flash", "plain"}, {AttentionKind::flash, AttentionKind::plain})},
      {"compute", "checkpointing", checkpointing_phrase(r.compute.checkpointing)},
      {"compute", "loss_chunk_rows", &r.compute.loss_chunk_rows},

      {"evaluation", "every", &r.evaluation.every},
      {"evaluation", "batches", &r.evaluation.batches},

      {"sample", "every", &r.sample.every},
      {"sample", "prompts", &r.sample.prompts},
      {"sample", "max_tokens", &r.sample.max_tokens},

      {"checkpoint", "every", &r.checkpoint.every},
      {"checkpoint", "keep", &r.checkpoint.keep},

      {"log", "every", &r.log.every},
  };
}

}  // namespace owlet
