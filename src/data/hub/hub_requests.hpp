// Requests to the Hub: credentials, redirects, patience. Two promises:
//   - The Authorization header goes to the endpoint's own scheme, host and port and nowhere else, however an answer
//     redirects.
//   - A server that is busy or away is asked again with growing pauses, never at once.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/error.hpp"
#include "base/json.hpp"
#include "data/hub/http_connection.hpp"
#include "data/hub/hub_settings.hpp"

namespace owlet {

/// How far a download is. Bytes of a file count from its beginning, resumed part included.
struct HubProgress {
  std::string file;
  uint64_t file_bytes = 0, file_total_bytes = 0;  ///< total 0: unknown
  uint64_t num_files_done = 0, num_files = 1;
  uint64_t bytes = 0, total_bytes = 0;  ///< of all files; total 0: unknown
  double bytes_per_second = 0;          ///< lately
  double seconds_left = -1;             ///< negative: unknown
};

/// What the library tells and asks whoever runs it. All may be empty.
struct HubHooks {
  std::function<void(const std::string&)> on_message;  ///< one line about a wait, a restart, an offline answer
  std::function<void(const HubProgress&)> on_progress;
  std::function<bool()> should_stop;

  template <typename... Args>
  void say(fmt::format_string<Args...> format, Args&&... args) const {
    if (on_message) on_message(fmt::format(format, std::forward<Args>(args)...));
  }
};

/// What a request is about, for messages.
struct HubSubject {
  std::string what;  ///< "TinyStories-train.txt of roneneldan/TinyStories"
  std::string repo;  ///< for the address of its page in hints
  std::string revision;
};

/// An Error io whose cause is the network or a server that is away: cached data may serve instead.
class HubUnreachable : public Error {
 public:
  using Error::Error;
};

class HubRequests {
 public:
  HubRequests(const HubSettings& settings, const HubHooks& hooks);

  /// One request without redirects, repeated while it fails in a way that may pass. Returns the answer whatever its
  /// status. Throws HubUnreachable when patience ends, Error io for what will not pass, Error cancelled.
  HttpResponse send(HttpRequest request, const HubSubject& subject);

  /// One attempt that follows redirects (at most 10); on_header and on_body of `request` see the last answer only.
  /// Throws like redirect_target. `final_url`, where given, receives the address that answered.
  HttpResponse follow(HttpRequest request, std::string* final_url = nullptr);

  /// GET of a JSON document: redirects followed, retried. Throws like send(), the errors of throw_if_failed, and
  /// Error corrupt_file for what is no JSON. `answer`, where given, receives status and headers.
  Json get_json(const std::string& url, const HubSubject& subject, HttpResponse* answer = nullptr);

  /// Throws what a status of 400 and more means: missing, not allowed (with the way to get access), busy.
  void throw_if_failed(const HttpResponse& response, const HubSubject& subject) const;

  /// Waits as `backoff` and the answer ask, with a message; throws cancelled when stopped, HubUnreachable when more
  /// than ten minutes are asked for.
  void wait(class Backoff& backoff, const HttpResponse& response, const HubSubject& subject);

  const HubSettings& settings() const { return settings_; }
  const HubHooks& hooks() const { return hooks_; }

 private:
  /// Adds our headers; the token where `url` belongs to the endpoint.
  HttpResponse perform(HttpRequest request);
  HttpResponse retry(const std::string& url, const HubSubject& subject, const std::function<HttpResponse()>& attempt);

  const HubSettings& settings_;
  const HubHooks& hooks_;
  std::string endpoint_origin_;
  HttpConnection connection_;
};

/// "connection refused" or "status 503", for messages about an answer that failed.
std::string describe_failure(const HttpResponse& response);

}  // namespace owlet
