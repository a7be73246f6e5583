// Log sink: messages of the library go to the sinks that the program sets; by default nowhere.
#pragma once

#include <fmt/format.h>

#include <functional>
#include <string_view>

namespace owlet {

enum class LogLevel { debug, info, warning, error };

/// Adds a sink that receives every message from now on; returns a number for remove_log_sink. Thread-safe: sinks are
/// called one message at a time, on the thread that logs. What a sink throws is dropped, and so is what it logs.
int add_log_sink(std::function<void(LogLevel, std::string_view)> sink);
/// After this call the sink is not called any more. Must not be called from inside a sink.
void remove_log_sink(int id);
void log_message(LogLevel level, std::string_view message);

template <typename... Args>
void log_info(fmt::format_string<Args...> format, Args&&... args) {
  log_message(LogLevel::info, fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
void log_warning(fmt::format_string<Args...> format, Args&&... args) {
  log_message(LogLevel::warning, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace owlet
