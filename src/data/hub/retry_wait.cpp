#include "data/hub/retry_wait.hpp"

#include <curl/curl.h>

#include <algorithm>
#include <thread>

namespace owlet {

namespace {

constexpr int kMaxDoublings = 5;
constexpr auto kSleepSlice = std::chrono::milliseconds(50);

/// The number behind `name=` in a header of the form `"api";r=0;t=55`.
std::optional<uint64_t> parameter_of(const std::string& text, const std::string& name) {
  const size_t at = text.find(";" + name + "=");
  if (at == std::string::npos) return std::nullopt;
  const size_t begin = at + name.size() + 2;
  return parse_whole_number(std::string_view(text).substr(begin, text.find_first_of(";, ", begin) - begin));
}

}  // namespace

std::optional<double> parse_retry_after(const std::string& value, std::chrono::system_clock::time_point now) {
  if (const auto seconds = parse_whole_number(value)) return static_cast<double>(*seconds);
  const time_t date = curl_getdate(value.c_str(), nullptr);
  if (date == -1) return std::nullopt;
  // In doubles: the clock's own type holds no date after the year 2262.
  const double now_seconds = std::chrono::duration<double>(now.time_since_epoch()).count();
  return std::max(0.0, static_cast<double>(date) - now_seconds);
}

std::optional<double> asked_wait_seconds(const HttpResponse& response, std::chrono::system_clock::time_point now) {
  if (const auto value = response.header("retry-after")) {
    if (const auto seconds = parse_retry_after(*value, now)) return seconds;
  }
  if (const auto value = response.header("ratelimit"); value && parameter_of(*value, "r") == 0) {
    if (const auto seconds = parameter_of(*value, "t")) return static_cast<double>(*seconds);
  }
  return std::nullopt;
}

bool is_worth_retrying(int status) {
  return status == 408 || status == 429 || status == 500 || status == 502 || status == 503 || status == 504;
}

double Backoff::next(std::optional<double> asked_seconds) {
  const double wait = first_seconds_ * static_cast<double>(1 << std::min(num_waits_, kMaxDoublings));
  ++num_waits_;
  return std::max(wait, asked_seconds.value_or(0));
}

bool sleep_unless_stopped(double seconds, const std::function<bool()>& should_stop) {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  while (true) {
    if (should_stop && should_stop()) return false;
    const auto now = Clock::now();
    if (now >= end) return true;
    std::this_thread::sleep_for(std::min<Clock::duration>(kSleepSlice, end - now));
  }
}

}  // namespace owlet
