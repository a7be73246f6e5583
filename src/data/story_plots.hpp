// The words and plots of the story generator: data only. How they are put together is in story_generator.cpp.
#pragma once

#include <span>
#include <string_view>

#include "data/story_grammar.hpp"

namespace owlet::stories {

/// Words that belong together, for example a toy, what it can do, and how it gets lost. Each table documents its
/// columns.
using WordRow = std::span<const std::string_view>;

/// A kind of story. `tables` names the tables of which one row each is drawn (story_generator.cpp).
struct Plot {
  std::string_view name;
  std::string_view text;
};

std::span<const Plot> plots();
const StoryRules& rules();

/// A table: the keys its columns give, and its rows (row-major).
struct WordTable {
  std::span<const std::string_view> keys;
  std::span<const std::string_view> cells;
  size_t num_rows() const { return cells.size() / keys.size(); }
  std::string_view cell(size_t row, size_t column) const { return cells[row * keys.size() + column]; }
};

/// All tables; one row of each is drawn for every story.
std::span<const WordTable> tables();
/// The table that has `key`.
const WordTable& table_of(std::string_view key);

}  // namespace owlet::stories
