// Sampler: from scores (logits) of the next token to one token id.
//
//   Sampler sampler({.temperature = 0.8, .top_p = 0.95, .seed = 1}, vocab_size);
//   int32_t id = sampler.sample(logits, ids_so_far);
//
// Steps, in the order of the `transformers` package: repetition penalty, temperature, top-k, top-p, min-p, draw.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/random.hpp"

namespace owlet {

struct SamplerOptions {
  /// Divides the logits; 0 takes the largest one (greedy, no randomness).
  double temperature = 0.8;
  /// Keeps the k largest; 0 = all.
  int64_t top_k = 0;
  /// Keeps the smallest set of largest probabilities that reaches this sum (Holtzman et al., arXiv:1904.09751); 1 =
  /// all.
  double top_p = 1.0;
  /// Keeps probabilities of at least min_p times the largest (Nguyen et al., arXiv:2407.01082); 0 = all.
  double min_p = 0.0;
  /// Above 1 makes tokens of the last `repetition_window` ids less likely: positive logits are divided, negative ones
  /// multiplied (Keskar et al., arXiv:1909.05858).
  double repetition_penalty = 1.0;
  int64_t repetition_window = 256;
  uint64_t seed = 0;

  /// Throws Error invalid_argument naming the option and its range.
  void check() const;
};

/// Draws with a counter-based stream: the n-th draw depends on seed and n only. Not thread-safe.
class Sampler {
 public:
  /// Ids from `num_ids` on are never drawn (rows of a padded vocabulary). Throws as SamplerOptions::check.
  Sampler(const SamplerOptions& options, int64_t num_ids);

  /// `logits` holds at least num_ids finite scores; `history` are the ids so far, oldest first.
  /// Throws Error internal naming the first id whose score is NaN.
  int32_t sample(std::span<const float> logits, std::span<const int32_t> history);

 private:
  struct Candidate {
    int32_t id;
    double score;
  };
  void penalise_repetitions(std::span<const int32_t> history);
  int32_t draw();

  SamplerOptions options_;
  int64_t num_ids_;
  RandomStream random_;
  std::vector<Candidate> candidates_;
};

}  // namespace owlet
