// Where Owlet keeps its own files: the XDG base directories (freedesktop.org, version 0.8), or one folder of the
// user's choice (OWLET_HOME).
#pragma once

#include <filesystem>

namespace owlet {

/// Settings people write: `$OWLET_HOME/config`, else `$XDG_CONFIG_HOME/owlet`, else `~/.config/owlet`. Like the three
/// below it only names the folder; create it where you write. Throws Error not_found when there is no home folder.
std::filesystem::path config_dir();
/// Files people would miss: `$OWLET_HOME/data`, else `$XDG_DATA_HOME/owlet`, else `~/.local/share/owlet`.
std::filesystem::path data_dir();
/// Files that can be made again: `$OWLET_HOME/cache`, else `$XDG_CACHE_HOME/owlet`, else `~/.cache/owlet`.
std::filesystem::path cache_dir();
/// Measurements and histories: `$OWLET_HOME/state`, else `$XDG_STATE_HOME/owlet`, else `~/.local/state/owlet`.
std::filesystem::path state_dir();

}  // namespace owlet
