// The note that `data get --out` leaves in a folder: where the files beside it came from.
#pragma once

#include <string_view>

namespace owlet {

/// Its name; whoever reads the folder's files passes over it.
inline constexpr std::string_view kSourceNote = "source.json";

}  // namespace owlet
