#include "text/split_behavior.hpp"

#include <array>
#include <utility>

namespace owlet {

SplitBehavior parse_split_behavior(const JsonSection& section, const std::string& key, SplitBehavior fallback) {
  static constexpr std::array<std::pair<std::string_view, SplitBehavior>, 5> kNames = {
      {{"Isolated", SplitBehavior::isolated},
       {"Removed", SplitBehavior::removed},
       {"MergedWithPrevious", SplitBehavior::merged_with_previous},
       {"MergedWithNext", SplitBehavior::merged_with_next},
       {"Contiguous", SplitBehavior::contiguous}}};
  const Json& value = section[key];
  if (value.is_null()) return fallback;
  for (const auto& [name, behavior] : kNames) {
    if (value == name) return behavior;
  }
  section.refuse(key);
}

void MatchJoiner::flush() {
  if (has_part_ && part_end_ > part_begin_) sink_(text_.substr(part_begin_, part_end_ - part_begin_));
  has_part_ = false;
}

void MatchJoiner::add(size_t end, bool is_match) {
  bool joins_last = false;
  switch (behavior_) {
    case SplitBehavior::isolated:
    case SplitBehavior::removed:
      break;
    case SplitBehavior::contiguous:
      joins_last = is_match == last_is_match_;
      break;
    case SplitBehavior::merged_with_previous:
      joins_last = is_match && !last_is_match_;
      break;
    case SplitBehavior::merged_with_next:
      joins_last = !is_match && last_is_match_;
      break;
  }
  const bool is_dropped = is_match && behavior_ == SplitBehavior::removed;
  if (!joins_last || !has_part_) {
    flush();
    part_begin_ = seen_;
    has_part_ = !is_dropped;
  }
  part_end_ = seen_ = end;
  last_is_match_ = is_match;
}

}  // namespace owlet
