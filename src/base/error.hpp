// Errors of the whole program: one exception type with a kind, a message and a hint, and check() which throws it.
// The library never prints, exits or aborts; cli and serve map the kinds to exit codes and HTTP codes.
//
//   check(columns == 4, ErrorKind::invalid_argument, "weight has {} columns, expected {}", columns, 4);
//   throw Error(ErrorKind::not_found, "recipe 'a.toml' does not exist", "`owlet pretrain --help` shows the options");
//
// check() is for what people and their files can cause; assert() is for our own mistakes.
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace owlet {

enum class ErrorKind { invalid_argument, not_found, corrupt_file, unsupported, out_of_memory, io, cancelled, internal };

/// The kind's name as written in --json output and logs, for example "corrupt_file".
std::string_view to_string(ErrorKind kind);

/// The one exception type of Owlet. what() is the message: it names the thing and both values. hint() is the remedy,
/// one sentence, empty where none is known.
class Error : public std::runtime_error {
 public:
  explicit Error(ErrorKind kind, const std::string& message, std::string hint = {})
      : std::runtime_error(message), kind_(kind), hint_(std::move(hint)) {}
  ErrorKind kind() const { return kind_; }
  const std::string& hint() const { return hint_; }

 private:
  ErrorKind kind_;
  std::string hint_;
};

/// Throws Error(kind, formatted message).
template <typename... Args>
[[noreturn]] void fail(ErrorKind kind, fmt::format_string<Args...> format, Args&&... args) {
  throw Error(kind, fmt::format(format, std::forward<Args>(args)...));
}

/// Throws Error(kind, formatted message) unless the condition holds. The message is only built on failure.
template <typename... Args>
void check(bool condition, ErrorKind kind, fmt::format_string<Args...> format, Args&&... args) {
  if (!condition) [[unlikely]] {
    fail(kind, format, std::forward<Args>(args)...);
  }
}

}  // namespace owlet
