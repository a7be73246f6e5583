// Training data without text: random tokens that a model can learn a little from, for benchmarks and comparisons.
#pragma once

#include <cstdint>

#include "train/trainer.hpp"

namespace owlet {

/// Batches of whole-row documents, a pure function of (seed, step). Half of the tokens follow from the one before by a
/// fixed rule, the others are drawn with a skew towards small ids, so that losses fall from ln V as they do on text.
TrainingData make_random_training_data(const Recipe& recipe, int64_t vocab_size, uint64_t seed);

}  // namespace owlet
