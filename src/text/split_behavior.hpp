// What becomes of the matches of a splitting expression: the five behaviours of Hugging Face's `Split`.
#pragma once

#include <string_view>

#include "base/function_ref.hpp"
#include "text/json_section.hpp"

namespace owlet {

enum class SplitBehavior { isolated, removed, merged_with_previous, merged_with_next, contiguous };

/// The behaviour that a section names with `key`; `fallback` where it is missing. Throws Error unsupported.
SplitBehavior parse_split_behavior(const JsonSection& section, const std::string& key, SplitBehavior fallback);

/// Takes matches and the stretches between them from left to right and gives the parts that the behaviour makes of
/// them. Parts are never empty.
class MatchJoiner {
 public:
  using PartSink = FunctionRef<void(std::string_view part)>;

  /// `inverts`: what matches and what does not change places.
  MatchJoiner(std::string_view text, SplitBehavior behavior, bool inverts, PartSink sink)
      : text_(text), behavior_(behavior), inverts_(inverts), sink_(sink) {}

  /// A match; the text since the last one is no match. An empty one parts what stands on its sides.
  void match(size_t begin, size_t end) {
    if (begin > seen_) add(begin, inverts_);
    add(end, !inverts_);
  }
  /// The end of the text.
  void finish() {
    if (text_.size() > seen_) add(text_.size(), inverts_);
    flush();
  }

 private:
  // The stretch from seen_ to `end`.
  void add(size_t end, bool is_match);
  // Gives out what is held back, from part_begin_ to part_end_.
  void flush();

  std::string_view text_;
  SplitBehavior behavior_;
  bool inverts_;
  PartSink sink_;
  size_t seen_ = 0, part_begin_ = 0, part_end_ = 0;
  bool has_part_ = false, last_is_match_ = false;
};

}  // namespace owlet
