// Console: where a command's words go. Results on stdout, everything else on stderr, progress only on a terminal.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

#include "base/json.hpp"

namespace owlet {

/// One per process, used by the main thread.
class Console {
 public:
  Console();

  /// Results as one JSON document on stdout instead of text.
  bool json = false;
  /// No progress and no remarks; errors still show.
  bool quiet = false;

  bool is_terminal() const { return is_terminal_; }
  bool has_color() const { return has_color_; }
  /// Columns of the terminal, 80 where unknown.
  int width() const;

  /// A line of the result on stdout; silent under --json.
  void result(std::string_view line);
  /// Part of a line of the result, shown at once (streamed text); silent under --json. A terminal gets it printable().
  void result_piece(std::string_view piece);
  /// The result under --json; silent otherwise.
  void json_result(const OrderedJson& document);
  /// A remark on stderr; silent under --quiet.
  void message(std::string_view line);
  void warning(std::string_view line);
  void error(std::string_view kind, std::string_view message, std::string_view hint);

  template <typename... Args>
  void say(fmt::format_string<Args...> format, Args&&... args) {
    message(fmt::format(format, std::forward<Args>(args)...));
  }

  /// Replaces the progress line at the bottom of the terminal; nothing where there is no terminal.
  void progress(std::string_view line);
  void clear_progress();

  std::string bold(std::string_view text) const;
  std::string dim(std::string_view text) const;

 private:
  bool is_terminal_ = false, is_stdout_terminal_ = false, has_color_ = false;
  bool shows_progress_ = false;
};

/// Text of a model made safe to show: control characters other than line end and tab (a bell, an escape sequence)
/// become U+FFFD.
std::string printable(std::string_view text);

/// "[=====>    ]" of `width` characters for a share from 0 to 1.
std::string progress_bar(double share, int width);

}  // namespace owlet
