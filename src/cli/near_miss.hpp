// "Did you mean …?" for words that are almost right.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace owlet {

/// The candidate with the fewest edits (insert, delete, replace, swap neighbours) from `word`, or "" if none is near.
std::string nearest_word(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace owlet
