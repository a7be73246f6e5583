// A small text grammar: templates with choices and named words.
//
//   "[One|On a] {weather} day, {name} lost {a color} {thing}."
//
// [x|y|z] takes one of the alternatives at random (they may be empty and may nest), {key} the word of that name, {Key}
// the word with a capital, {a key} the word with its article, {@rule} expands another template.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/random.hpp"

namespace owlet {

using StoryWords = std::map<std::string, std::string, std::less<>>;
using StoryRules = std::map<std::string_view, std::string_view>;

/// Expands `text`; draws from `random` for each choice in order. An unknown key or an open bracket is our own mistake:
/// throws Error internal naming it.
std::string expand_story_text(std::string_view text, const StoryWords& words, const StoryRules& rules,
                              RandomStream& random);

/// Joins runs of spaces and removes spaces beside line ends and at both ends.
std::string tidy_story_spaces(std::string_view text);

}  // namespace owlet
