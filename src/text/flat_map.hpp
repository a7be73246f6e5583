// Two open-addressing hash maps for the inner loops of encoding and training: keys that are pairs of ids, and keys that
// are short byte strings. std::unordered_map spends one or two cache misses more per lookup, which is most of the time
// here. Entries are never removed; the tables double at three quarters full.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace owlet {

/// Spreads the bits of a key over all 64 bits (the finisher of SplitMix64, Steele, Lea, Flood 2014).
inline uint64_t mix_bits(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

/// Maps pairs of non-negative ids to values.
template <typename Value>
class PairMap {
 public:
  explicit PairMap(size_t expected_size = 0) {
    size_t capacity = 16;
    while (capacity * 3 / 4 < expected_size) capacity *= 2;
    slots_.resize(capacity);
  }

  const Value* find(int32_t left, int32_t right) const {
    const Slot& slot = slots_[place_of(key_of(left, right))];
    return slot.key == kEmpty ? nullptr : &slot.value;
  }
  Value* find(int32_t left, int32_t right) { return const_cast<Value*>(std::as_const(*this).find(left, right)); }

  /// The value of the pair, default-constructed where it is new. References live until the next insertion.
  Value& operator()(int32_t left, int32_t right) {
    if (size_ + 1 > slots_.size() * 3 / 4) grow();
    const uint64_t key = key_of(left, right);
    Slot& slot = slots_[place_of(key)];
    if (slot.key == kEmpty) {
      slot.key = key;
      ++size_;
    }
    return slot.value;
  }

  size_t size() const { return size_; }

 private:
  static constexpr uint64_t kEmpty = ~uint64_t{0};
  struct Slot {
    uint64_t key = kEmpty;
    Value value{};
  };

  static uint64_t key_of(int32_t left, int32_t right) {
    return uint64_t{static_cast<uint32_t>(left)} << 32 | static_cast<uint32_t>(right);
  }

  size_t place_of(uint64_t key) const {
    const size_t mask = slots_.size() - 1;
    size_t place = mix_bits(key) & mask;
    while (slots_[place].key != key && slots_[place].key != kEmpty) place = (place + 1) & mask;
    return place;
  }

  void grow() {
    std::vector<Slot> old(slots_.size() * 2);
    old.swap(slots_);
    for (Slot& slot : old) {
      if (slot.key != kEmpty) slots_[place_of(slot.key)] = std::move(slot);
    }
  }

  std::vector<Slot> slots_;
  size_t size_ = 0;
};

/// Maps byte strings to values; keeps its own copy of the keys in one block. Meant for keys of a few bytes: the first
/// eight stand in the table itself.
template <typename Value>
class WordMap {
 public:
  explicit WordMap(size_t expected_size = 0) {
    size_t capacity = 16;
    while (capacity * 3 / 4 < expected_size) capacity *= 2;
    slots_.resize(capacity);
  }

  const Value* find(std::string_view word) const { return find_hashed(word).value; }

  /// As find(), and the word's hash_of().
  struct Found {
    const Value* value;
    uint32_t hash;
  };
  Found find_hashed(std::string_view word) const {
    const Key key(word);
    const Slot& slot = slots_[place_of(key, word)];
    return {slot.is_used ? &slot.value : nullptr, key.hash};
  }

  /// The value of the word, default-constructed where it is new. References live until the next insertion.
  Value& operator[](std::string_view word) {
    if (size_ + 1 > slots_.size() * 3 / 4) grow();
    const Key key(word);
    Slot& slot = slots_[place_of(key, word)];
    if (!slot.is_used) {
      slot.key = key;
      slot.is_used = true;
      slot.offset = bytes_.size();
      bytes_.append(word);
      ++size_;
    }
    return slot.value;
  }

  /// The 32-bit hash that the table uses.
  static uint32_t hash_of(std::string_view word) { return Key(word).hash; }

  /// Calls visit(word, value) for every entry, in the order of the table.
  template <typename Visit>
  void for_each(Visit&& visit) const {
    for (const Slot& slot : slots_) {
      if (slot.is_used) visit(word_of(slot), slot.value);
    }
  }

  size_t size() const { return size_; }
  /// Bytes that the table and its keys take.
  size_t memory_bytes() const { return slots_.capacity() * sizeof(Slot) + bytes_.capacity(); }

 private:
  struct Key {
    Key() = default;
    explicit Key(std::string_view word) : first_bytes(load_up_to_8(word)), length(static_cast<uint32_t>(word.size())) {
      uint64_t mixed = mix_bits(first_bytes + uint64_t{length} * 0x9E3779B97F4A7C15u);
      for (size_t at = 8; at < word.size(); at += 8) mixed = mix_bits(mixed ^ load_up_to_8(word.substr(at)));
      hash = static_cast<uint32_t>(mixed);
    }
    uint64_t first_bytes = 0;
    uint32_t length = 0, hash = 0;
  };
  struct Slot {
    Key key;
    uint64_t offset = 0;
    Value value{};
    bool is_used = false;
  };

  // The first eight bytes as a number, zeros where the word is shorter, without reading beyond it.
  static uint64_t load_up_to_8(std::string_view word) {
    const char* data = word.data();
    const size_t size = word.size();
    uint64_t value = 0;
    if (size >= 8) {
      std::memcpy(&value, data, 8);
    } else if (size >= 4) {
      uint32_t low = 0, high = 0;
      std::memcpy(&low, data, 4);
      std::memcpy(&high, data + size - 4, 4);
      value = low | uint64_t{high} << (8 * (size - 4));
    } else if (size > 0) {
      const auto byte = [&](size_t i) { return uint64_t{static_cast<uint8_t>(data[i])} << (8 * i); };
      value = byte(0) | byte(size / 2) | byte(size - 1);
    }
    return value;
  }

  std::string_view word_of(const Slot& slot) const {
    return std::string_view(bytes_).substr(slot.offset, slot.key.length);
  }

  bool holds(const Slot& slot, const Key& key, std::string_view word) const {
    return slot.key.first_bytes == key.first_bytes && slot.key.length == key.length && slot.key.hash == key.hash &&
           (key.length <= 8 || std::memcmp(bytes_.data() + slot.offset + 8, word.data() + 8, key.length - 8) == 0);
  }

  size_t place_of(const Key& key, std::string_view word) const {
    const size_t mask = slots_.size() - 1;
    size_t place = key.hash & mask;
    while (slots_[place].is_used && !holds(slots_[place], key, word)) place = (place + 1) & mask;
    return place;
  }

  void grow() {
    std::vector<Slot> old(slots_.size() * 2);
    old.swap(slots_);
    for (const Slot& slot : old) {
      if (slot.is_used) slots_[place_of(slot.key, word_of(slot))] = slot;
    }
  }

  std::vector<Slot> slots_;
  std::string bytes_;
  size_t size_ = 0;
};

}  // namespace owlet
