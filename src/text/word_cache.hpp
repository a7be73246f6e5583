// Remembers the ids of words that had to be merged: in running text most of them come again soon.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

namespace owlet {

/// A direct-mapped cache of fixed size: each word has one place, and a newer word drives the older one out. Each thread
/// has its own, which all encoders share; entries carry the number of the encoder they belong to.
class WordCache {
 public:
  static constexpr size_t kMaxWordBytes = 24, kMaxIds = 8;

  /// This thread's cache.
  static WordCache& of_this_thread() {
    thread_local WordCache cache;
    return cache;
  }

  /// Appends the remembered ids and returns true, or returns false.
  bool append_ids(uint64_t encoder, uint32_t hash, std::string_view word, std::vector<int32_t>& ids) const {
    const Entry& entry = entries_[hash % kNumEntries];
    const bool is_hit = entry.encoder == encoder && entry.hash == hash && entry.length == word.size() &&
                        std::memcmp(entry.word.data(), word.data(), word.size()) == 0;
    if (is_hit) ids.insert(ids.end(), entry.ids.begin(), entry.ids.begin() + entry.num_ids);
    return is_hit;
  }

  /// Remembers a word, unless it or its ids are too many.
  void remember(uint64_t encoder, uint32_t hash, std::string_view word, std::span<const int32_t> ids) {
    if (word.size() > kMaxWordBytes || ids.size() > kMaxIds) return;
    Entry& entry = entries_[hash % kNumEntries];
    entry.encoder = encoder;
    entry.hash = hash;
    entry.length = static_cast<uint8_t>(word.size());
    entry.num_ids = static_cast<uint8_t>(ids.size());
    std::memcpy(entry.word.data(), word.data(), word.size());
    std::copy(ids.begin(), ids.end(), entry.ids.begin());
  }

 private:
  static constexpr size_t kNumEntries = 4096;  // 288 KiB

  struct Entry {
    uint64_t encoder = 0;  // 0: empty
    uint32_t hash = 0;
    uint8_t length = 0, num_ids = 0;
    std::array<char, kMaxWordBytes> word{};
    std::array<int32_t, kMaxIds> ids{};
  };

  std::vector<Entry> entries_ = std::vector<Entry>(kNumEntries);
};

}  // namespace owlet
