#include "cli/console.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "base/text_table.hpp"

namespace owlet {
namespace {

bool is_set(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0';
}

/// The first `columns` code points of a line.
std::string_view cut_to_columns(std::string_view line, size_t columns) {
  size_t seen = 0;
  for (size_t i = 0; i < line.size(); ++i) {
    const bool begins_character = (static_cast<unsigned char>(line[i]) & 0xc0u) != 0x80u;
    if (begins_character && seen++ == columns) return line.substr(0, i);
  }
  return line;
}

}  // namespace

Console::Console() {
  const char* terminal = std::getenv("TERM");
  const bool is_dumb = terminal != nullptr && std::string_view(terminal) == "dumb";
  is_terminal_ = isatty(STDERR_FILENO) == 1 && !is_dumb;
  is_stdout_terminal_ = isatty(STDOUT_FILENO) == 1;
  has_color_ = is_terminal_ && is_stdout_terminal_ && !is_set("NO_COLOR");
}

int Console::width() const {
  winsize size{};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return 80;
}

void Console::result(std::string_view line) {
  if (json) return;
  clear_progress();
  fmt::print(stdout, "{}\n", line);
  std::fflush(stdout);
}

void Console::result_piece(std::string_view piece) {
  if (json) return;
  clear_progress();
  const std::string shown = is_stdout_terminal_ ? printable(piece) : std::string(piece);
  std::fwrite(shown.data(), 1, shown.size(), stdout);
  std::fflush(stdout);
}

void Console::json_result(const OrderedJson& document) {
  if (!json) return;
  clear_progress();
  fmt::print(stdout, "{}\n", dump_json(document, 2));
  std::fflush(stdout);
}

void Console::message(std::string_view line) {
  if (quiet) return;
  clear_progress();
  fmt::print(stderr, "{}\n", line);
}

void Console::warning(std::string_view line) {
  clear_progress();
  fmt::print(stderr, "{} {}\n", bold("warning:"), line);
}

void Console::error(std::string_view kind, std::string_view message, std::string_view hint) {
  clear_progress();
  fmt::print(stderr, "{} {}\n", bold("owlet:"), message);
  if (!hint.empty()) fmt::print(stderr, "  {}\n", hint);
  if (json) {
    const OrderedJson document = {{"error", {{"kind", kind}, {"message", message}, {"hint", hint}}}};
    fmt::print(stdout, "{}\n", dump_json(document, 2));
  }
}

void Console::progress(std::string_view line) {
  if (!is_terminal_ || quiet) return;
  const auto columns = static_cast<size_t>(std::max(20, width() - 1));
  fmt::print(stderr, "\r\x1b[K{}", cut_to_columns(line, columns));
  std::fflush(stderr);
  shows_progress_ = true;
}

void Console::clear_progress() {
  if (!shows_progress_) return;
  fmt::print(stderr, "\r\x1b[K");
  shows_progress_ = false;
}

std::string Console::bold(std::string_view text) const {
  return has_color_ ? fmt::format("\x1b[1m{}\x1b[0m", text) : std::string(text);
}

std::string Console::dim(std::string_view text) const {
  return has_color_ ? fmt::format("\x1b[2m{}\x1b[0m", text) : std::string(text);
}

std::string printable(std::string_view text) {
  std::string shown;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool is_control = (byte < 0x20 && c != '\n' && c != '\t') || byte == 0x7f;
    if (is_control) {
      shown += "\uFFFD";
    } else {
      shown += c;
    }
  }
  return shown;
}

std::string progress_bar(double share, int width) {
  const int filled = static_cast<int>(std::clamp(share, 0.0, 1.0) * width);
  std::string bar(static_cast<size_t>(filled), '=');
  if (filled < width) bar += '>';
  bar.resize(static_cast<size_t>(width), ' ');
  return "[" + bar + "]";
}

}  // namespace owlet
