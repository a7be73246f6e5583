// The inner part of BPE training: words as sequences of ids, the counts of their adjacent pairs, and merging one pair
// everywhere. Counts are kept up to date by the changes around each merge instead of counting anew.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <queue>
#include <span>
#include <vector>

#include "text/flat_map.hpp"

namespace owlet {

/// An adjacent pair of ids and how often it occurs, each word as often as it was counted.
struct PairCount {
  int32_t left, right;
  int64_t count;
};

/// Holds the words and merges pairs in them. Overlapping occurrences count (three equal ids are two pairs).
class BpeMerger {
 public:
  /// Pairs that occur less often than `least_count` are never given; most of a text without spaces are such.
  explicit BpeMerger(int64_t least_count = 1) : least_count_(least_count) {}
  /// Adds a word, given as ids. To be called before the first take_best_pair().
  void add_word(std::span<const int32_t> ids, int64_t count);
  /// Counts the pairs of all words.
  void count_pairs();

  /// The most frequent pair, of equals the one with the smallest (left, right); count 0 where none is left. The pair is
  /// given once: it is to be merged next.
  PairCount take_best_pair();

  /// Replaces the pair by `result` in all words, from left to right.
  void merge(int32_t left, int32_t right, int32_t result);

 private:
  struct Word {
    size_t begin;  // in symbols_
    uint32_t length;
    int64_t count;
  };
  static constexpr uint32_t kNoWord = UINT32_MAX;
  struct Pair {
    int64_t count = 0;
    // Where the pair may stand: a word may be listed after the pair has gone, or twice. Most pairs stand in one word
    // only, which needs no list.
    uint32_t first_word = kNoWord;
    bool is_in_grown = false;
    std::unique_ptr<std::vector<uint32_t>> other_words;
  };
  struct LessUrgent {
    bool operator()(const PairCount& a, const PairCount& b) const {
      if (a.count != b.count) return a.count < b.count;
      return a.left != b.left ? a.left > b.left : a.right > b.right;
    }
  };

  void merge_in_word(uint32_t word_index, int32_t left, int32_t right, int32_t result);
  void queue_grown_pairs();
  void change_count(int32_t left, int32_t right, int64_t change, uint32_t word_index);

  int64_t least_count_;
  std::vector<int32_t> symbols_;
  std::vector<Word> words_;
  PairMap<uint32_t> pair_index_;                    // index into pairs_, plus one
  std::deque<Pair> pairs_;                          // a vector would need twice the memory while it grows
  std::vector<std::pair<int32_t, int32_t>> grown_;  // pairs whose count rose and that are to be queued (again)
  std::priority_queue<PairCount, std::vector<PairCount>, LessUrgent> queue_;  // counts may be outdated
};

}  // namespace owlet
