// A data folder and recipes so small that tests train on them in a fraction of a second.
#pragma once

#include <filesystem>
#include <string>

#include "base/atomic_file.hpp"
#include "base/temporary_folder.hpp"
#include "data/dataset.hpp"
#include "data/prepare.hpp"
#include "train/recipe.hpp"

namespace owlet::testing {

/// Stories that differ in length, about 150 bytes each, parted by the default separator.
inline std::string tiny_corpus(int num_stories) {
  const char* names[] = {"Ada", "Ben", "Cleo", "Dan", "Eve"};
  const char* things[] = {"a red ball", "an old map", "a small owl", "a key", "the moon"};
  std::string text;
  for (int i = 0; i < num_stories; ++i) {
    const std::string name = names[i % 5], thing = things[(i / 5) % 5];
    text += "Once there was " + name + ". " + name + " looked for " + thing + " number " + std::to_string(i) + ". ";
    for (int j = 0; j < i % 4; ++j) text += "It was not in house " + std::to_string(j) + ". ";
    text += "In the end " + name + " found " + thing + ".\n<|endoftext|>\n";
  }
  return text;
}

/// Prepares the corpus with the byte tokenizer in `folder`/data and opens it.
inline Dataset make_tiny_dataset(const std::filesystem::path& folder, int num_stories = 40) {
  write_file_atomically(folder / "corpus.txt", tiny_corpus(num_stories));
  PrepareOptions options;
  options.tokenizer = "bytes";
  options.out = folder / "data";
  options.validation_share = 0.2;
  options.force = true;
  prepare_text_files({folder / "corpus.txt"}, "<|endoftext|>", options);
  return load_dataset(folder / "data");
}

/// Two layers of width 32, resolved.
inline Recipe tiny_recipe(int64_t steps = 20, DType precision = DType::f32) {
  Recipe recipe;
  recipe.model.width = 32;
  recipe.model.layers = 2;
  recipe.model.heads = 2;
  recipe.model.kv_heads = 1;
  recipe.model.feed_forward = 48;
  recipe.model.context = 16;
  recipe.data.batch = 4;
  recipe.optimizer.learning_rate = 1e-2;
  recipe.schedule.warmup_steps = 5;
  recipe.horizon.steps = steps;
  recipe.compute.precision = precision;
  recipe.evaluation.every = 0;
  recipe.evaluation.batches = 0;
  recipe.checkpoint.every = 0;
  recipe.resolve(0);
  return recipe;
}

}  // namespace owlet::testing
