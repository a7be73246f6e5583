// A queue of 64-bit keys that gives the smallest first, for keys that mostly do not fall below those already given.
// Such keys cost a constant number of sequential moves each (a radix heap: Ahuja, Mehlhorn, Orlin, Tarjan, "Faster
// algorithms for the shortest path problem", J. ACM 37, 1990), where a binary heap takes longer the more there are and
// jumps through memory. Keys that do fall below are taken too; they wait in a binary heap of their own.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <queue>
#include <vector>

namespace owlet {

/// Keys may repeat.
class MonotoneQueue {
 public:
  bool empty() const { return size_ == 0; }

  void push(uint64_t key) {
    ++size_;
    if (key < last_) {
      below_.push(key);
    } else {
      buckets_[bucket_of(key)].push_back(key);
    }
  }

  /// Takes the smallest key. The queue must not be empty.
  uint64_t pop() {
    --size_;
    if (!below_.empty()) {
      const uint64_t key = below_.top();
      below_.pop();
      return key;
    }
    if (buckets_[0].empty()) refill();
    buckets_[0].pop_back();
    return last_;
  }

 private:
  /// 0 for the key last given, otherwise one more than the highest bit in which a key differs from it.
  size_t bucket_of(uint64_t key) const { return static_cast<size_t>(std::bit_width(key ^ last_)); }

  /// The smallest key becomes the last; those that shared its bucket move to lower ones.
  void refill() {
    size_t full = 1;
    while (buckets_[full].empty()) ++full;
    std::vector<uint64_t>& keys = buckets_[full];
    last_ = keys[0];
    for (const uint64_t key : keys) last_ = key < last_ ? key : last_;
    for (const uint64_t key : keys) buckets_[bucket_of(key)].push_back(key);
    keys.clear();
  }

  std::array<std::vector<uint64_t>, 65> buckets_;
  std::priority_queue<uint64_t, std::vector<uint64_t>, std::greater<>> below_;
  uint64_t last_ = 0;
  size_t size_ = 0;
};

}  // namespace owlet
