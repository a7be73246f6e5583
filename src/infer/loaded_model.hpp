// A model from disk, ready to generate: weights, tokenizer and the ids that begin and end a text.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

#include "models/decoder/config.hpp"
#include "models/language_model.hpp"
#include "text/tokenizer.hpp"

namespace owlet {

struct LoadedModel {
  std::filesystem::path folder;
  DecoderConfig config;
  std::unique_ptr<LanguageModel> model;
  Tokenizer tokenizer;
  /// Put before every prompt, where the model was trained so.
  std::optional<int32_t> begin_id;
  /// Ids that end a text.
  std::vector<int32_t> end_ids;
  /// Things the owner should know, one sentence each: weights beside those in use, say.
  std::vector<std::string> notes;
};

/// The model folder meant by `path`: itself where it holds config.json; in a run folder (or its checkpoints/) the best
/// checkpoint, else the latest. Throws Error not_found naming what was looked for.
std::filesystem::path find_model_folder(const std::filesystem::path& path);

/// Loads a Hugging Face folder (config.json, model.safetensors or its shards, tokenizer files) for generation.
/// `storage` says in which precision. Throws Error not_found / corrupt_file / unsupported naming file and field.
LoadedModel load_model(Context& ctx, const std::filesystem::path& path, const ParameterStorage& storage);

}  // namespace owlet
