// Where recipes are looked for by name.
#pragma once

#include <filesystem>
#include <vector>

namespace owlet {

/// ./recipes, the user's config folder, and the folders that come with the program: beside the source tree it was built
/// in and share/owlet/recipes of an installation.
std::vector<std::filesystem::path> recipe_folders();

}  // namespace owlet
