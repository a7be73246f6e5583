#include "text/bpe_merger.hpp"

#include <utility>

#include "base/error.hpp"

namespace owlet {

void BpeMerger::add_word(std::span<const int32_t> ids, int64_t count) {
  check(words_.size() < UINT32_MAX, ErrorKind::invalid_argument, "more than {} distinct words", UINT32_MAX);
  words_.push_back({symbols_.size(), static_cast<uint32_t>(ids.size()), count});
  symbols_.insert(symbols_.end(), ids.begin(), ids.end());
}

void BpeMerger::count_pairs() {
  for (uint32_t w = 0; w < words_.size(); ++w) {
    const Word& word = words_[w];
    for (size_t i = word.begin; i + 1 < word.begin + word.length; ++i)
      change_count(symbols_[i], symbols_[i + 1], word.count, w);
  }
  queue_grown_pairs();
}

void BpeMerger::change_count(int32_t left, int32_t right, int64_t change, uint32_t word_index) {
  uint32_t& index = pair_index_(left, right);
  if (index == 0) {
    pairs_.emplace_back();
    index = static_cast<uint32_t>(pairs_.size());
  }
  Pair& pair = pairs_[index - 1];
  pair.count += change;
  if (change < 0) return;
  if (pair.first_word == kNoWord) {
    pair.first_word = word_index;
  } else if (!pair.other_words) {
    if (pair.first_word != word_index) pair.other_words = std::make_unique<std::vector<uint32_t>>(1, word_index);
  } else if (pair.other_words->back() != word_index) {
    pair.other_words->push_back(word_index);
  }
  if (pair.is_in_grown || pair.count < least_count_) return;
  grown_.emplace_back(left, right);
  pair.is_in_grown = true;
}

void BpeMerger::queue_grown_pairs() {
  for (const auto& [left, right] : grown_) {
    Pair& pair = pairs_[*pair_index_.find(left, right) - 1];
    pair.is_in_grown = false;
    if (pair.count >= least_count_) queue_.push({left, right, pair.count});
  }
  grown_.clear();
}

PairCount BpeMerger::take_best_pair() {
  while (!queue_.empty()) {
    const PairCount best = queue_.top();
    queue_.pop();
    const int64_t count = pairs_[*pair_index_.find(best.left, best.right) - 1].count;
    if (count == best.count) return best;
    // The count fell since: back with the true count. (Where it rose, the pair was queued again at that time.)
    if (count >= least_count_ && count < best.count) queue_.push({best.left, best.right, count});
  }
  return {-1, -1, 0};
}

void BpeMerger::merge(int32_t left, int32_t right, int32_t result) {
  const uint32_t index = *pair_index_.find(left, right) - 1;
  const uint32_t first_word = std::exchange(pairs_[index].first_word, kNoWord);
  const std::unique_ptr<std::vector<uint32_t>> other_words = std::move(pairs_[index].other_words);
  if (first_word != kNoWord) merge_in_word(first_word, left, right, result);
  if (other_words) {
    for (const uint32_t word : *other_words) merge_in_word(word, left, right, result);
  }
  pairs_[index].count = 0;
  queue_grown_pairs();
}

void BpeMerger::merge_in_word(uint32_t word_index, int32_t left, int32_t right, int32_t result) {
  Word& word = words_[word_index];
  int32_t* const symbols = symbols_.data() + word.begin;
  const uint32_t length = word.length;
  uint32_t kept = 0;
  for (uint32_t i = 0; i < length; ++i) {
    if (symbols[i] != left || i + 1 >= length || symbols[i + 1] != right) {
      symbols[kept++] = symbols[i];
      continue;
    }
    if (kept > 0) {
      change_count(symbols[kept - 1], left, -word.count, word_index);
      change_count(symbols[kept - 1], result, word.count, word_index);
    }
    if (i + 2 < length) {
      change_count(right, symbols[i + 2], -word.count, word_index);
      change_count(result, symbols[i + 2], word.count, word_index);
    }
    symbols[kept++] = result;
    ++i;
  }
  word.length = kept;
}

}  // namespace owlet
