#include "data/hub/transfer_meter.hpp"

#include <algorithm>

namespace owlet {

namespace {

constexpr auto kWindow = std::chrono::seconds(10);
constexpr auto kBetweenReports = std::chrono::milliseconds(200);

}  // namespace

TransferMeter::TransferMeter(const HubHooks& hooks, uint64_t num_files, uint64_t total_bytes) : hooks_(hooks) {
  progress_.num_files = num_files;
  progress_.total_bytes = total_bytes;
}

void TransferMeter::begin_file(const std::string& name, uint64_t already_bytes, uint64_t total_bytes) {
  progress_.file = name;
  progress_.file_bytes = already_bytes;
  progress_.file_total_bytes = total_bytes;
  report(Clock::now(), true);
}

void TransferMeter::add(uint64_t bytes, Clock::time_point now) {
  if (samples_.empty()) samples_.emplace_back(now, received_bytes_);
  received_bytes_ += bytes;
  progress_.file_bytes += bytes;
  if (now - last_report_ < kBetweenReports) return;
  samples_.emplace_back(now, received_bytes_);
  while (samples_.size() > 2 && now - samples_.front().first > kWindow) samples_.pop_front();
  const double seconds = std::chrono::duration<double>(now - samples_.front().first).count();
  if (seconds > 0) {
    progress_.bytes_per_second = static_cast<double>(received_bytes_ - samples_.front().second) / seconds;
  }
  report(now, true);
}

void TransferMeter::restart_file() {
  progress_.file_bytes = 0;
  report(Clock::now(), true);
}

void TransferMeter::end_file(uint64_t bytes) {
  bytes_of_done_files_ += bytes;
  progress_.file_bytes = 0;
  ++progress_.num_files_done;
  report(Clock::now(), true);
}

void TransferMeter::report(Clock::time_point now, bool is_forced) {
  if (!is_forced && now - last_report_ < kBetweenReports) return;
  last_report_ = now;
  progress_.bytes = bytes_of_done_files_ + progress_.file_bytes;
  // Listings may be wrong about sizes; what has come cannot be more than there is.
  if (progress_.total_bytes > 0) progress_.total_bytes = std::max(progress_.total_bytes, progress_.bytes);
  const bool is_known = progress_.total_bytes > 0 && progress_.bytes_per_second > 0;
  progress_.seconds_left =
      is_known ? static_cast<double>(progress_.total_bytes - progress_.bytes) / progress_.bytes_per_second : -1;
  if (hooks_.on_progress) hooks_.on_progress(progress_);
}

}  // namespace owlet
