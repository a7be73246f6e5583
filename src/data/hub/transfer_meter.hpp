// Speed and remaining time of a download of several files.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <string>
#include <utility>

#include "data/hub/hub_requests.hpp"

namespace owlet {

/// Turns counts of bytes into HubProgress, reported at most five times a second. The speed is the mean over the last
/// ten seconds; bytes that were there already do not count for it. One thread.
class TransferMeter {
 public:
  using Clock = std::chrono::steady_clock;
  /// `total_bytes` of all files, 0 where unknown.
  TransferMeter(const HubHooks& hooks, uint64_t num_files, uint64_t total_bytes);

  /// `already_bytes` of the file are here from before.
  void begin_file(const std::string& name, uint64_t already_bytes, uint64_t total_bytes);
  void add(uint64_t bytes, Clock::time_point now = Clock::now());
  /// The file starts again from nothing.
  void restart_file();
  /// Also for files that needed no download: `bytes` is the file's size.
  void end_file(uint64_t bytes);
  const HubProgress& progress() const { return progress_; }

 private:
  void report(Clock::time_point now, bool is_forced);

  const HubHooks& hooks_;
  HubProgress progress_;
  uint64_t bytes_of_done_files_ = 0, received_bytes_ = 0;
  std::deque<std::pair<Clock::time_point, uint64_t>> samples_;  // received_bytes_ at times
  Clock::time_point last_report_{};
};

}  // namespace owlet
