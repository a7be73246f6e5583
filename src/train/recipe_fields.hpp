// The one list of a recipe's keys: reading, writing, comparing and suggesting all walk over it.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "train/recipe.hpp"

namespace owlet {

/// A value that is one of a few words.
struct RecipeChoice {
  std::vector<std::string_view> words;
  std::function<size_t()> get;
  std::function<void(size_t)> set;
};

/// A value that is written in a small language of its own.
struct RecipePhrase {
  std::string_view expected;  ///< what it may be, for messages
  std::function<std::string()> get;
  /// False: not a phrase of that language; nothing is changed.
  std::function<bool(std::string_view)> set;
};

/// One key: where it stands in the file and where its value lives. `section` is empty for keys at the top.
struct RecipeField {
  std::string_view section, key;
  std::variant<bool*, int64_t*, uint64_t*, double*, std::string*, std::vector<std::string>*, RecipeChoice, RecipePhrase>
      value;

  std::string name() const {
    return section.empty() ? std::string(key) : std::string(section) + "." + std::string(key);
  }
};

/// All keys, section by section; the pointers point into `recipe`.
std::vector<RecipeField> recipe_fields(Recipe& recipe);

}  // namespace owlet
