// Checkpoints of a trainer. One is a Hugging Face model folder, ready to load and share,
//   config.json  generation_config.json  model.safetensors  tokenizer.json  tokenizer_config.json
// with f32 master weights, or bf16 matrices where there are no others, plus what continuing needs:
//   optimizer.safetensors   "m.NAME" and "v.NAME" for each parameter, by Owlet's own names; moments of eight bits also
//                           have "m_scale.NAME" and "v_scale.NAME"
//   trainer.json            counters, place in the data, seeds, best evaluation, fingerprints
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/json.hpp"
#include "data/dataset.hpp"
#include "text/tokenizer.hpp"
#include "train/trainer.hpp"

namespace owlet {

/// The best evaluation so far.
struct BestEvaluation {
  int64_t step = 0;
  double loss = 0;
};

/// What trainer.json holds.
struct TrainerRecord {
  TrainerState state;
  std::optional<BestEvaluation> best;
  double seconds = 0;  ///< of training in all sessions so far
  Recipe recipe;       ///< as it was when the checkpoint was written
  /// What the data were: name -> value; compared on resume.
  std::vector<std::pair<std::string, std::string>> data;
};

/// What identifies a data folder for resuming: tokenizer fingerprint, vocabulary, counts, checksums of the shards.
std::vector<std::pair<std::string, std::string>> data_identity(const Dataset& dataset);

/// Bytes a checkpoint takes on disk, to a few kilobytes.
uint64_t checkpoint_bytes(Trainer& trainer);

/// Writes CHECKPOINTS/step-N for the trainer's step (formats/checkpoint_folder.hpp). Throws Error io.
std::filesystem::path save_checkpoint(const std::filesystem::path& checkpoints, Trainer& trainer,
                                      const TrainerRecord& record, const Tokenizer& tokenizer);

/// Reads trainer.json. Throws Error corrupt_file.
TrainerRecord read_trainer_record(const std::filesystem::path& checkpoint);

/// Sets the trainer's weights, moments and state from a checkpoint folder. Throws Error corrupt_file naming tensor and
/// both shapes.
void load_checkpoint(const std::filesystem::path& checkpoint, Trainer& trainer, const TrainerRecord& record);

/// Throws Error invalid_argument listing what differs between the data a checkpoint was made with and `dataset`.
void check_same_data(const TrainerRecord& record, const Dataset& dataset);

}  // namespace owlet
