#include "infer/sampler.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "base/error.hpp"

namespace owlet {

void SamplerOptions::check() const {
  using owlet::check;
  constexpr auto kInvalid = ErrorKind::invalid_argument;
  check(std::isfinite(temperature) && temperature >= 0, kInvalid, "temperature is {}, expected 0 (greedy) or more",
        temperature);
  check(top_k >= 0, kInvalid, "top-k is {}, expected 0 (all) or more", top_k);
  check(top_p >= 0 && top_p <= 1, kInvalid, "top-p is {}, expected a number from 0 to 1", top_p);
  check(min_p >= 0 && min_p <= 1, kInvalid, "min-p is {}, expected a number from 0 to 1", min_p);
  check(std::isfinite(repetition_penalty) && repetition_penalty > 0, kInvalid,
        "repetition penalty is {}, expected a number above 0 (1 = none)", repetition_penalty);
  check(repetition_window >= 0, kInvalid, "repetition window is {}, expected 0 or more", repetition_window);
}

Sampler::Sampler(const SamplerOptions& options, int64_t num_ids)
    : options_(options), num_ids_(num_ids), random_(options.seed, stream_id("sampler")) {
  options_.check();
  check(num_ids > 0, ErrorKind::invalid_argument, "a sampler for {} ids, expected at least 1", num_ids);
}

void Sampler::penalise_repetitions(std::span<const int32_t> history) {
  const size_t window = std::min(history.size(), static_cast<size_t>(options_.repetition_window));
  const std::set<int32_t> recent(history.end() - static_cast<std::ptrdiff_t>(window), history.end());
  for (int32_t id : recent) {
    if (id < 0 || id >= num_ids_) continue;
    double& score = candidates_[static_cast<size_t>(id)].score;
    score = score > 0 ? score / options_.repetition_penalty : score * options_.repetition_penalty;
  }
}

int32_t Sampler::sample(std::span<const float> logits, std::span<const int32_t> history) {
  check(static_cast<int64_t>(logits.size()) >= num_ids_, ErrorKind::internal, "{} scores for {} ids", logits.size(),
        num_ids_);
  candidates_.clear();
  for (int32_t id = 0; id < num_ids_; ++id) {
    const float score = logits[static_cast<size_t>(id)];
    check(!std::isnan(score), ErrorKind::internal, "the model's score of token {} is not a number", id);
    candidates_.push_back({id, score});
  }
  if (options_.repetition_penalty != 1.0) penalise_repetitions(history);
  // Ties go to the smaller id, so that greedy decoding does not depend on the order of anything.
  const auto is_better = [](const Candidate& a, const Candidate& b) {
    return a.score != b.score ? a.score > b.score : a.id < b.id;
  };
  if (options_.temperature == 0) return std::ranges::min_element(candidates_, is_better)->id;
  for (Candidate& candidate : candidates_) candidate.score /= options_.temperature;
  if (options_.top_k > 0 && options_.top_k < num_ids_) {
    std::ranges::partial_sort(candidates_, candidates_.begin() + options_.top_k, is_better);
    candidates_.resize(static_cast<size_t>(options_.top_k));
  } else {
    std::ranges::sort(candidates_, is_better);
  }
  return draw();
}

/// Draws from candidates_, sorted by falling score.
int32_t Sampler::draw() {
  const double largest = candidates_.front().score;
  check(std::isfinite(largest), ErrorKind::internal, "the model's largest score is {}", largest);
  double total = 0;
  for (Candidate& candidate : candidates_) {
    candidate.score = std::exp(candidate.score - largest);
    total += candidate.score;
  }
  size_t num_kept = 0;
  double kept = 0;
  // The best candidate always stays; the largest weight is exp(0) = 1, so min_p compares with the weights directly.
  while (num_kept < candidates_.size()) {
    const double weight = candidates_[num_kept].score;
    if (num_kept > 0 && (kept >= options_.top_p * total || weight < options_.min_p)) break;
    kept += weight;
    ++num_kept;
  }
  double remaining = random_.next_double() * kept;
  for (size_t i = 0; i < num_kept; ++i) {
    remaining -= candidates_[i].score;
    if (remaining < 0) return candidates_[i].id;
  }
  return candidates_[num_kept - 1].id;
}

}  // namespace owlet
