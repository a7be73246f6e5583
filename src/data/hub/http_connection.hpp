// One HTTP request at a time through libcurl. What is not here: redirects, credentials, retries (hub_requests.hpp).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace owlet {

/// Why no whole answer came.
enum class HttpFailure {
  none,         ///< it came
  unreachable,  ///< no connection: name not found, refused, no route
  dropped,      ///< the connection ended or fell silent before the answer was whole
  refused,      ///< will not get better by itself: certificate, protocol
  stopped,      ///< should_stop said so
};

struct HttpResponse {
  int status = 0;                              ///< 0 where no header came
  std::map<std::string, std::string> headers;  ///< names in lower case; of repeated ones the values joined by ", "
  std::string body;                            ///< empty where the request had on_body
  HttpFailure failure = HttpFailure::none;
  std::string failure_reason;  ///< libcurl's words

  /// The header's value, nothing where it is missing.
  std::optional<std::string> header(std::string_view lower_case_name) const;
  /// Content-Length as a number, nothing where missing or malformed.
  std::optional<uint64_t> content_length() const;
  bool is_redirect() const;
};

struct HttpRequest {
  std::string url;
  bool wants_header_only = false;    ///< HEAD instead of GET
  std::vector<std::string> headers;  ///< "Name: value"
  /// To connect, and the longest silence before or within the answer. An answer that trickles below 16 B/s over three
  /// times this long counts as dropped as well.
  double timeout_seconds = 10;
  /// Called once with status and headers before the body; false: the body is not wanted, and the request ends without
  /// a failure. May throw; perform() then throws the same.
  std::function<bool(const HttpResponse&)> on_header;
  /// Receives the body piece by piece. May throw. Without it the body is kept, up to max_body_bytes.
  std::function<void(std::string_view)> on_body;
  uint64_t max_body_bytes = uint64_t{64} << 20;
  /// Asked ten times a second.
  std::function<bool()> should_stop;
};

/// Keeps connections open from one request to the next. Movable; one thread at a time.
class HttpConnection {
 public:
  HttpConnection();
  ~HttpConnection();
  HttpConnection(HttpConnection&&) noexcept;
  HttpConnection& operator=(HttpConnection&&) noexcept;

  /// Sends one request and waits for the answer. Failures of the network are in the answer; throws what the callbacks
  /// throw, and Error io for a kept body over its limit.
  HttpResponse perform(const HttpRequest& request);

 private:
  struct Handles;
  std::unique_ptr<Handles> handles_;
};

/// A whole number without sign or blanks; nothing for anything else.
std::optional<uint64_t> parse_whole_number(std::string_view text);

}  // namespace owlet
