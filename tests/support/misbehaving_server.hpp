// A small HTTP server for tests that can do everything wrong: cut a connection in the middle, answer slowly, lie about
// lengths. One thread per connection; requests are answered by a function of the test and remembered.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace owlet {

struct ServerRequest {
  std::string method, target;                  ///< target: path and query as sent
  std::map<std::string, std::string> headers;  ///< names in lower case

  std::string header(const std::string& name) const {
    const auto found = headers.find(name);
    return found == headers.end() ? "" : found->second;
  }
};

struct ServerAnswer {
  int status = 200;
  std::vector<std::pair<std::string, std::string>> headers = {};
  std::string body = {};
  /// Close the connection after this many bytes of the body; negative: send it whole.
  int64_t cut_after_bytes = -1;
  /// Send each byte of the body alone, so many milliseconds apart; 0: at once. The header as well if drips_header.
  int drip_milliseconds = 0;
  bool drips_header = false;
  /// Say nothing at all for so long, then close.
  int silent_milliseconds = 0;
  /// Content-Length to claim instead of the body's.
  int64_t claimed_bytes = -1;
};

class MisbehavingServer {
 public:
  using Handler = std::function<ServerAnswer(const ServerRequest&)>;

  explicit MisbehavingServer(Handler handler) : handler_(std::move(handler)) {
    listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof(address);
    if (bind(listener_, reinterpret_cast<sockaddr*>(&address), length) != 0 || listen(listener_, 64) != 0) std::abort();
    getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &length);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { accept_all(); });
  }
  ~MisbehavingServer() {
    is_stopping_ = true;
    thread_.join();
    for (std::thread& thread : connections_) thread.join();
    close(listener_);
  }
  MisbehavingServer(const MisbehavingServer&) = delete;
  MisbehavingServer& operator=(const MisbehavingServer&) = delete;

  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }
  std::vector<ServerRequest> requests() const {
    const std::lock_guard lock(mutex_);
    return requests_;
  }
  void forget_requests() {
    const std::lock_guard lock(mutex_);
    requests_.clear();
  }
  /// How many requests of this method had a target that contains `part`.
  int count(const std::string& method, const std::string& part) const {
    int number = 0;
    for (const ServerRequest& request : requests()) {
      if (request.method == method && request.target.find(part) != std::string::npos) ++number;
    }
    return number;
  }

 private:
  bool wait_readable(int descriptor) const {
    while (!is_stopping_) {
      pollfd entry{descriptor, POLLIN, 0};
      if (poll(&entry, 1, 20) > 0) return true;
    }
    return false;
  }

  void accept_all() {
    while (wait_readable(listener_)) {
      const int connection = accept(listener_, nullptr, nullptr);
      if (connection >= 0) connections_.emplace_back([this, connection] { serve(connection); });
    }
  }

  bool read_request(int connection, std::string& pending, ServerRequest& request) const {
    size_t end;
    while ((end = pending.find("\r\n\r\n")) == std::string::npos) {
      char buffer[4096];
      if (!wait_readable(connection)) return false;
      const ssize_t got = recv(connection, buffer, sizeof(buffer), 0);
      if (got <= 0) return false;
      pending.append(buffer, static_cast<size_t>(got));
    }
    const std::string head = pending.substr(0, end + 2);
    pending.erase(0, end + 4);
    const size_t first_line_end = head.find("\r\n"), blank = head.find(' ');
    request.method = head.substr(0, blank);
    request.target = head.substr(blank + 1, head.find(' ', blank + 1) - blank - 1);
    for (size_t at = first_line_end + 2; at < head.size();) {
      const size_t line_end = head.find("\r\n", at), colon = head.find(':', at);
      std::string name = head.substr(at, colon - at);
      for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
      request.headers[name] = head.substr(colon + 2, line_end - colon - 2);
      at = line_end + 2;
    }
    return true;
  }

  bool send_all(int connection, std::string_view text, int drip_milliseconds) const {
    while (!text.empty() && !is_stopping_) {
      const size_t piece = drip_milliseconds > 0 ? 1 : text.size();
      const ssize_t sent = send(connection, text.data(), piece, MSG_NOSIGNAL);
      if (sent <= 0) return false;
      text.remove_prefix(static_cast<size_t>(sent));
      if (drip_milliseconds > 0) std::this_thread::sleep_for(std::chrono::milliseconds(drip_milliseconds));
    }
    return !is_stopping_;
  }

  bool answer_one(int connection, const ServerRequest& request) {
    const ServerAnswer answer = handler_(request);
    for (int slept = 0; slept < answer.silent_milliseconds && !is_stopping_; slept += 10) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    if (answer.silent_milliseconds > 0) return false;
    std::string head = "HTTP/1.1 " + std::to_string(answer.status) + " Status\r\n";
    bool has_length = answer.status == 304;
    for (const auto& [name, value] : answer.headers) {
      head += name + ": " + value + "\r\n";
      has_length = has_length || name == "Content-Length";
    }
    const int64_t claimed = answer.claimed_bytes >= 0 ? answer.claimed_bytes : static_cast<int64_t>(answer.body.size());
    if (!has_length) head += "Content-Length: " + std::to_string(claimed) + "\r\n";
    if (!send_all(connection, head + "\r\n", answer.drips_header ? answer.drip_milliseconds : 0)) return false;
    if (request.method == "HEAD") return true;
    const bool is_cut = answer.cut_after_bytes >= 0;
    const std::string_view body =
        is_cut ? std::string_view(answer.body).substr(0, static_cast<size_t>(answer.cut_after_bytes))
               : std::string_view(answer.body);
    return send_all(connection, body, answer.drip_milliseconds) && !is_cut;
  }

  void serve(int connection) {
    std::string pending;
    ServerRequest request;
    while (read_request(connection, pending, request)) {
      {
        const std::lock_guard lock(mutex_);
        requests_.push_back(request);
      }
      if (!answer_one(connection, request)) break;
      request = {};
    }
    shutdown(connection, SHUT_RDWR);
    close(connection);
  }

  Handler handler_;
  int listener_ = -1;
  int port_ = 0;
  std::atomic<bool> is_stopping_{false};
  mutable std::mutex mutex_;
  std::vector<ServerRequest> requests_;
  std::vector<std::thread> connections_;
  std::thread thread_;
};

}  // namespace owlet
