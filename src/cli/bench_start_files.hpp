// What another program needs to train the same model on the same batches.
#pragma once

#include <cstdint>
#include <string>

#include "train/trainer.hpp"

namespace owlet {

/// Writes FOLDER/model.safetensors (the trainer's weights in f32 under the Hub's names) with config.json,
/// FOLDER/batches.safetensors: "inputs" and "targets", I32 (num_steps, B, T), as `stream` hands them out, and
/// FOLDER/training.json: AdamW's settings and the learning rate of each step.
/// Throws Error io.
void save_bench_start(const std::string& folder, Trainer& trainer, BatchStream& stream, int64_t num_steps);

}  // namespace owlet
