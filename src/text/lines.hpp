// The lines of a text that is held whole.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace owlet {

/// Calls visit(line, number) for every line that is not empty, without its end (LF or CR LF); numbers count from 1.
template <typename Visit>
void for_each_line(std::string_view text, Visit visit) {
  size_t number = 1;
  for (size_t begin = 0; begin < text.size(); ++number) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    std::string_view line = text.substr(begin, end - begin);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (!line.empty()) visit(line, number);
    begin = end + 1;
  }
}

}  // namespace owlet
