// How long to wait before asking a server again.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "data/hub/http_connection.hpp"

namespace owlet {

/// Seconds that a Retry-After value asks for (RFC 9110, 10.2.3: whole seconds, or a date, counted from `now`; a date
/// gone by is 0). Nothing where it is neither.
std::optional<double> parse_retry_after(const std::string& value, std::chrono::system_clock::time_point now);

/// What an answer asks for: Retry-After, else the t= of `RateLimit: "api";r=0;t=55` when nothing remains (r=0).
std::optional<double> asked_wait_seconds(const HttpResponse& response, std::chrono::system_clock::time_point now);

/// 408, 429, 500, 502, 503, 504: the same request may succeed later.
bool is_worth_retrying(int status);

/// Doubling waits: first, 2·first, 4·first … 32·first, without chance in them.
class Backoff {
 public:
  explicit Backoff(double first_seconds) : first_seconds_(first_seconds) {}
  /// The next wait in seconds, at least what the server asked for.
  double next(std::optional<double> asked_seconds = std::nullopt);
  void reset() { num_waits_ = 0; }
  int num_waits() const { return num_waits_; }

 private:
  double first_seconds_;
  int num_waits_ = 0;
};

/// Sleeps, asking `should_stop` twenty times a second; false if it said so.
bool sleep_unless_stopped(double seconds, const std::function<bool()>& should_stop);

}  // namespace owlet
