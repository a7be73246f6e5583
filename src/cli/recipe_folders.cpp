#include "cli/recipe_folders.hpp"

#include "base/error.hpp"
#include "base/paths.hpp"

namespace owlet {

namespace fs = std::filesystem;

std::vector<fs::path> recipe_folders() {
  std::vector<fs::path> folders = {"recipes"};
  try {
    folders.push_back(config_dir() / "recipes");
  } catch (const Error&) {
    // No home folder: the other places remain.
  }
  std::error_code ignored;
  const fs::path program = fs::read_symlink("/proc/self/exe", ignored);
  if (!program.empty()) {
    folders.push_back((program.parent_path() / ".." / ".." / "recipes").lexically_normal());
    folders.push_back((program.parent_path() / ".." / "share" / "owlet" / "recipes").lexically_normal());
  }
  return folders;
}

}  // namespace owlet
