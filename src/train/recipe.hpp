// Recipe: everything that determines a training run apart from its data, as people write it in TOML.
//
//   Recipe recipe = load_recipe(find_recipe("stories-3m", {"recipes"}), {"data.batch=8", "optimizer.clip=0.5"});
//   recipe.resolve(dataset.info().train.tokens);          // tokens or epochs become steps
//   write_file_atomically("run/recipe.toml", to_toml(recipe));
//
// The keys of the file are the members' names: [model] width = 128. Left-out keys keep the defaults below.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "models/decoder/config.hpp"
#include "ops/attention.hpp"
#include "tensor/dtype.hpp"

namespace owlet {

/// [model] A run takes its vocabulary from the tokenizer.
struct ModelRecipe {
  DecoderFamily family = DecoderFamily::llama;
  int64_t vocab = 0;         ///< V for plans and benchmarks without data; 0: must be given there
  int64_t width = 128;       ///< C
  int64_t layers = 4;        ///< L
  int64_t heads = 4;         ///< H
  int64_t kv_heads = 0;      ///< K; 0: as many as heads
  int64_t feed_forward = 0;  ///< F; 0: 8/3 C (SwiGLU) or 4 C (GELU), rounded up to a multiple of 32
  int64_t context = 128;     ///< T, tokens per row and the model's max_context
  bool tied = true;          ///< output head and token embedding are one matrix
  double rope_theta = 10000.0;
  int64_t window = 0;  ///< sliding window of attention; 0: none
  /// Standard deviation of normal initialisation.
  double initializer_range = 0.02;
};

/// [data]
struct DataRecipe {
  int64_t batch = 8;             ///< rows per micro-batch, B
  int64_t accumulation = 1;      ///< micro-batches per step
  bool cross_documents = false;  ///< attention may look into earlier documents of the row
  uint64_t seed = 1;             ///< of the order of the rows
};

/// Moments in f32, or in eight bits (tensors under 4,096 elements keep f32).
enum class OptimizerKind : uint8_t { adamw, adamw8bit };

/// [optimizer] AdamW, see ops/adamw.hpp. Weight decay applies to matrices only.
struct OptimizerRecipe {
  OptimizerKind kind = OptimizerKind::adamw;
  double learning_rate = 1e-3;  ///< peak
  double beta1 = 0.9, beta2 = 0.95, eps = 1e-8;
  double weight_decay = 0.1;
  double clip = 1.0;       ///< largest gradient norm; 0: no clipping
  int64_t skip_limit = 5;  ///< this many skipped steps one after the other end the run; see Trainer::step
  /// Update each parameter in the backward pass, as soon as its gradient is complete, and give the gradient's memory
  /// back: the gradients never all exist. Needs clip = 0 and data.accumulation = 1.
  bool in_backward = false;
};

enum class ScheduleKind : uint8_t { cosine, wsd, constant };

/// [schedule] See train/schedule.hpp.
struct ScheduleRecipe {
  ScheduleKind kind = ScheduleKind::cosine;
  int64_t warmup_steps = 100;
  double min_lr_ratio = 0.1;    ///< last learning rate over the peak
  double decay_fraction = 0.2;  ///< wsd: share of the steps that decay
};

/// [horizon] Exactly one of them is set; resolve() makes it steps.
struct HorizonRecipe {
  int64_t steps = 0;
  int64_t tokens = 0;
  double epochs = 0;
};

/// [compute]
struct ComputeRecipe {
  DType precision = DType::bf16;  ///< of activations and matrices: "bf16" or "f32"
  /// "f32": master weights beside the bf16 matrices; "bf16": these alone, rounded at random by the update.
  DType weights = DType::f32;
  AttentionKind attention = AttentionKind::flash;
  /// Blocks per group that the backward pass computes again instead of keeping its activations: "off" (0), "block" (1)
  /// or "every N". Each group keeps its input; one group at a time has all its activations.
  int64_t checkpointing = 0;
  int64_t loss_chunk_rows = 512;  ///< tokens per chunk of the output head
};

/// [evaluation]
struct EvaluationRecipe {
  int64_t every = 250;   ///< steps; 0: only at the end. Steps that write a checkpoint evaluate too.
  int64_t batches = 50;  ///< spread evenly over the validation set; 0: all
};

/// [sample]
struct SampleRecipe {
  int64_t every = 0;  ///< steps; 0: never
  std::vector<std::string> prompts;
  int64_t max_tokens = 100;
};

/// [checkpoint]
struct CheckpointRecipe {
  int64_t every = 500;  ///< steps; 0: only at the end
  int64_t keep = 2;     ///< newest ones kept, beside the best
};

/// [log]
struct LogRecipe {
  int64_t every = 10;  ///< steps per line of metrics.jsonl
};

struct Recipe {
  std::string description;
  uint64_t seed = 1;  ///< of the initial weights
  ModelRecipe model;
  DataRecipe data;
  OptimizerRecipe optimizer;
  ScheduleRecipe schedule;
  HorizonRecipe horizon;
  ComputeRecipe compute;
  EvaluationRecipe evaluation;
  SampleRecipe sample;
  CheckpointRecipe checkpoint;
  LogRecipe log;

  /// Throws Error invalid_argument naming the key, its value and what it may be.
  void check() const;
  /// check(), then tokens or epochs become steps, and zeros that mean "derived" become numbers. Idempotent.
  void resolve(int64_t train_tokens);
  /// Tokens of a step that is full: batch * accumulation * context.
  int64_t tokens_per_step() const { return data.batch * data.accumulation * model.context; }
};

/// The model that a recipe describes, checked.
DecoderConfig decoder_config(const Recipe& recipe, int64_t vocab_size);

/// Reads a recipe and puts `overrides` ("section.key=value", "seed=3"; the value in TOML, or a bare word for a string)
/// in its place. Throws Error not_found, corrupt_file (TOML syntax, with line and column), and invalid_argument for an
/// unknown key (place and nearest known key) or a wrong type (place, both types).
Recipe load_recipe(const std::filesystem::path& path, const std::vector<std::string>& overrides = {});
/// The same from text; `source` names it in errors.
Recipe parse_recipe(std::string_view text, std::string_view source, const std::vector<std::string>& overrides = {});
/// Puts overrides into an existing recipe, as above.
void override_recipe(Recipe& recipe, const std::vector<std::string>& overrides);

/// TOML with every key; parse_recipe(to_toml(recipe)) gives the same recipe.
std::string to_toml(const Recipe& recipe);
/// "section.key: old -> new" for every key in which two recipes differ.
std::vector<std::string> recipe_differences(const Recipe& before, const Recipe& after);

/// The file behind a recipe's name: an existing path as it is, or `NAME.toml` in the first of `folders` that has it.
/// Throws Error not_found naming the folders and the nearest name there.
std::filesystem::path find_recipe(const std::string& name_or_path, const std::vector<std::filesystem::path>& folders);

std::string_view to_string(ScheduleKind kind);
std::string_view to_string(OptimizerKind kind);

}  // namespace owlet
