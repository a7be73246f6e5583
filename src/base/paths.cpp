#include "base/paths.hpp"

#include <pwd.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "base/error.hpp"

namespace owlet {

namespace {

namespace fs = std::filesystem;

/// The variable's value, empty where it is unset.
fs::path path_from_environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? fs::path() : fs::path(value);
}

fs::path home_dir() {
  if (const fs::path home = path_from_environment("HOME"); !home.empty()) return home;
  if (const passwd* user = getpwuid(getuid()); user != nullptr && user->pw_dir != nullptr) return user->pw_dir;
  throw Error(ErrorKind::not_found, "the home folder is unknown: HOME is not set", "set HOME or OWLET_HOME");
}

fs::path choose_dir(const char* owlet_name, const char* xdg_variable, const char* below_home) {
  if (const fs::path chosen = path_from_environment("OWLET_HOME"); !chosen.empty()) return chosen / owlet_name;
  const fs::path xdg = path_from_environment(xdg_variable);
  if (xdg.is_absolute()) return xdg / "owlet";  // the specification has relative ones ignored
  return home_dir() / below_home / "owlet";
}

}  // namespace

fs::path config_dir() { return choose_dir("config", "XDG_CONFIG_HOME", ".config"); }
fs::path data_dir() { return choose_dir("data", "XDG_DATA_HOME", ".local/share"); }
fs::path cache_dir() { return choose_dir("cache", "XDG_CACHE_HOME", ".cache"); }
fs::path state_dir() { return choose_dir("state", "XDG_STATE_HOME", ".local/state"); }

}  // namespace owlet
