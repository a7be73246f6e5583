#include "base/log.hpp"

#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

namespace owlet {

namespace {

struct Sinks {
  std::mutex mutex;
  int next_id = 1;
  std::vector<std::pair<int, std::function<void(LogLevel, std::string_view)>>> entries;
};

Sinks& sinks() {
  static Sinks instance;
  return instance;
}

}  // namespace

int add_log_sink(std::function<void(LogLevel, std::string_view)> sink) {
  const std::lock_guard lock(sinks().mutex);
  sinks().entries.emplace_back(sinks().next_id, std::move(sink));
  return sinks().next_id++;
}

void remove_log_sink(int id) {
  const std::lock_guard lock(sinks().mutex);
  std::erase_if(sinks().entries, [&](const auto& entry) { return entry.first == id; });
}

void log_message(LogLevel level, std::string_view message) {
  thread_local bool is_inside_sink = false;
  if (is_inside_sink) return;
  const std::lock_guard lock(sinks().mutex);
  is_inside_sink = true;
  for (const auto& [id, sink] : sinks().entries) {
    try {
      sink(level, message);
    } catch (...) {  // a message must never change what the program computes
    }
  }
  is_inside_sink = false;
}

}  // namespace owlet
