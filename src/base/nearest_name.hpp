// What a mistyped name may have meant.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace owlet {

/// Insertions, deletions, replacements and swaps of neighbours that turn one into the other (optimal string alignment).
size_t edit_distance(std::string_view a, std::string_view b);

/// The known name nearest to `name`, empty where none is near (more than a third of its length, at least 2, away).
/// The first of equally near ones.
std::string nearest_name(std::string_view name, std::span<const std::string> known);

}  // namespace owlet
