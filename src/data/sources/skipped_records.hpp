// Rows that could not be read: the first error, or counted and passed over.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "data/record_source.hpp"

namespace owlet {

/// Places that are kept with their reasons; the others are only counted.
inline constexpr size_t kMaxSkippedPlaces = 20;

/// Decides what a bad row does. Not thread-safe.
class SkippedRecords {
 public:
  explicit SkippedRecords(bool skips) : skips_(skips) {}
  /// Counts the row, or throws corrupt_file with place, reason and a hint.
  void add(std::string place, std::string reason) {
    if (!skips_) throw Error(ErrorKind::corrupt_file, place + ": " + reason, "--skip-bad passes over such rows");
    ++count_;
    if (places_.size() < kMaxSkippedPlaces) places_.push_back({std::move(place), std::move(reason)});
  }
  void clear() {
    count_ = 0;
    places_.clear();
  }
  bool skips() const { return skips_; }
  uint64_t count() const { return count_; }
  const std::vector<SkippedRecord>& places() const { return places_; }

 private:
  bool skips_;
  uint64_t count_ = 0;
  std::vector<SkippedRecord> places_;
};

}  // namespace owlet
