#include "data/hub/http_connection.hpp"

#include <curl/curl.h>

#include <charconv>
#include <chrono>
#include <cstdlib>
#include <exception>

#include "base/error.hpp"

namespace owlet {

namespace {

using Clock = std::chrono::steady_clock;

constexpr int kPollMilliseconds = 100;
constexpr double kSlowestBytesPerSecond = 16;
constexpr double kSlowTimeouts = 3;
constexpr size_t kMaxHeaderBytes = 256 * 1024;
constexpr long kReceiveBytes = 512 * 1024;

double seconds_between(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

std::string_view trim(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const size_t first = text.find_first_not_of(kBlanks);
  return first == std::string_view::npos ? "" : text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

struct ListCloser {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};
using HeaderList = std::unique_ptr<curl_slist, ListCloser>;

HeaderList make_header_list(const std::vector<std::string>& headers) {
  HeaderList list;
  for (const std::string& header : headers) {
    curl_slist* longer = curl_slist_append(list.get(), header.c_str());
    check(longer != nullptr, ErrorKind::out_of_memory, "no memory for a request header");
    static_cast<void>(list.release());
    list.reset(longer);
  }
  return list;
}

/// State of one request, handed to libcurl's callbacks. These must not throw through C: exceptions wait in `thrown`.
struct Transfer {
  explicit Transfer(const HttpRequest& asked) : request(asked) {}

  const HttpRequest& request;
  HttpResponse response;
  bool has_body_begun = false, is_body_unwanted = false;
  size_t header_bytes = 0;
  std::exception_ptr thrown;
  Clock::time_point last_sign = Clock::now(), window_start = Clock::now();
  double window_bytes = 0;

  void note_bytes(size_t count) {
    last_sign = Clock::now();
    window_bytes += static_cast<double>(count);
  }

  void take_header_line(std::string_view line) {
    header_bytes += line.size();
    check(header_bytes <= kMaxHeaderBytes, ErrorKind::io, "{} answers with more than {} bytes of headers", request.url,
          kMaxHeaderBytes);
    if (line.starts_with("HTTP/")) {  // also after a "100 Continue": the last answer counts
      response.headers.clear();
      const size_t blank = line.find(' ');
      response.status = 0;
      if (blank != std::string_view::npos) {
        const std::string_view code = line.substr(blank + 1, 3);
        std::from_chars(code.data(), code.data() + code.size(), response.status);
      }
      return;
    }
    const size_t colon = line.find(':');
    if (colon == std::string_view::npos) return;
    std::string name(trim(line.substr(0, colon)));
    for (char& c : name) {
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    }
    std::string& value = response.headers[name];
    if (!value.empty()) value += ", ";
    value += trim(line.substr(colon + 1));
  }

  /// Calls on_header once; false if the body is not wanted.
  bool begin_body() {
    if (has_body_begun) return !is_body_unwanted;
    has_body_begun = true;
    is_body_unwanted = request.on_header && !request.on_header(response);
    return !is_body_unwanted;
  }

  bool take_body(std::string_view piece) {
    if (!begin_body()) return false;
    if (request.on_body) {
      request.on_body(piece);
    } else {
      check(response.body.size() + piece.size() <= request.max_body_bytes, ErrorKind::io,
            "{} answers with more than {} bytes", request.url, request.max_body_bytes);
      response.body += piece;
    }
    return true;
  }

  /// Empty while the answer flows, else what is wrong with its pace.
  std::string describe_stall() {
    const Clock::time_point now = Clock::now();
    const double timeout = request.timeout_seconds;
    if (seconds_between(last_sign, now) > timeout) return fmt::format("nothing came for {:g} s", timeout);
    const double window = seconds_between(window_start, now);
    if (window < kSlowTimeouts * timeout) return {};
    if (window_bytes < kSlowestBytesPerSecond * window) {
      return fmt::format("only {} bytes came in {:.1f} s", static_cast<uint64_t>(window_bytes), window);
    }
    window_start = now;
    window_bytes = 0;
    return {};
  }
};

template <typename Take>
size_t guarded(Transfer& transfer, size_t count, Take take) {
  try {
    transfer.note_bytes(count);
    return take() ? count : CURL_WRITEFUNC_ERROR;
  } catch (...) {
    transfer.thrown = std::current_exception();
    return CURL_WRITEFUNC_ERROR;
  }
}

size_t receive_header(char* data, size_t size, size_t count, void* target) {
  auto& transfer = *static_cast<Transfer*>(target);
  return guarded(transfer, size * count, [&] {
    transfer.take_header_line({data, size * count});
    return true;
  });
}

size_t receive_body(char* data, size_t size, size_t count, void* target) {
  auto& transfer = *static_cast<Transfer*>(target);
  return guarded(transfer, size * count, [&] { return transfer.take_body({data, size * count}); });
}

HttpFailure classify(CURLcode code) {
  switch (code) {
    case CURLE_OK:
      return HttpFailure::none;
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_COULDNT_CONNECT:
      return HttpFailure::unreachable;
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_URL_MALFORMAT:
    case CURLE_TOO_MANY_REDIRECTS:
      return HttpFailure::refused;
    default:
      return HttpFailure::dropped;
  }
}

void set_options(CURL* easy, const HttpRequest& request, Transfer& transfer, curl_slist* headers) {
  curl_easy_reset(easy);
  curl_easy_setopt(easy, CURLOPT_URL, request.url.c_str());
  curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(easy, CURLOPT_NOBODY, request.wants_header_only ? 1L : 0L);
  curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers);
  curl_easy_setopt(easy, CURLOPT_USERAGENT, "owlet/" OWLET_VERSION);
  curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(request.timeout_seconds * 1000));
  curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, kReceiveBytes);
  curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, receive_header);
  curl_easy_setopt(easy, CURLOPT_HEADERDATA, &transfer);
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, receive_body);
  curl_easy_setopt(easy, CURLOPT_WRITEDATA, &transfer);
  // Networks with certificates of their own name them in these; libcurl itself does not look.
  for (const char* name : {"SSL_CERT_FILE", "CURL_CA_BUNDLE"}) {
    const char* bundle = std::getenv(name);
    if (bundle != nullptr && *bundle != '\0') curl_easy_setopt(easy, CURLOPT_CAINFO, bundle);
  }
}

}  // namespace

struct HttpConnection::Handles {
  CURLM* multi = nullptr;
  CURL* easy = nullptr;
  ~Handles() {
    if (easy != nullptr) curl_easy_cleanup(easy);
    if (multi != nullptr) curl_multi_cleanup(multi);
  }
};

HttpConnection::HttpConnection() : handles_(std::make_unique<Handles>()) {
  static const CURLcode initialised = curl_global_init(CURL_GLOBAL_DEFAULT);
  handles_->multi = curl_multi_init();
  handles_->easy = curl_easy_init();
  check(initialised == CURLE_OK && handles_->multi != nullptr && handles_->easy != nullptr, ErrorKind::internal,
        "libcurl does not start");
}

HttpConnection::~HttpConnection() = default;
HttpConnection::HttpConnection(HttpConnection&&) noexcept = default;
HttpConnection& HttpConnection::operator=(HttpConnection&&) noexcept = default;

HttpResponse HttpConnection::perform(const HttpRequest& request) {
  CURL* easy = handles_->easy;
  CURLM* multi = handles_->multi;
  Transfer transfer(request);
  const HeaderList headers = make_header_list(request.headers);
  set_options(easy, request, transfer, headers.get());
  check(curl_multi_add_handle(multi, easy) == CURLM_OK, ErrorKind::internal, "libcurl refuses a request");
  CURLcode result = CURLE_OK;
  std::string stall;
  bool is_stopped = false;
  for (int num_running = 1; num_running > 0;) {
    if (curl_multi_perform(multi, &num_running) != CURLM_OK) break;
    if (num_running > 0) curl_multi_poll(multi, nullptr, 0, kPollMilliseconds, nullptr);
    is_stopped = request.should_stop && request.should_stop();
    if (num_running > 0) stall = transfer.describe_stall();
    if (is_stopped || !stall.empty()) break;
  }
  int num_waiting = 0;
  while (const CURLMsg* message = curl_multi_info_read(multi, &num_waiting)) {
    if (message->msg == CURLMSG_DONE) result = message->data.result;
  }
  curl_multi_remove_handle(multi, easy);

  if (transfer.thrown) std::rethrow_exception(transfer.thrown);
  HttpResponse& response = transfer.response;
  if (is_stopped) {
    response.failure = HttpFailure::stopped;
    response.failure_reason = "stopped";
  } else if (!stall.empty()) {
    response.failure = HttpFailure::dropped;
    response.failure_reason = stall;
  } else if (!transfer.is_body_unwanted) {
    response.failure = classify(result);
    if (result != CURLE_OK) response.failure_reason = curl_easy_strerror(result);
    if (result == CURLE_OK) transfer.begin_body();  // answers without a body
  }
  return std::move(response);
}

std::optional<std::string> HttpResponse::header(std::string_view lower_case_name) const {
  const auto found = headers.find(std::string(lower_case_name));
  if (found == headers.end()) return std::nullopt;
  return found->second;
}

std::optional<uint64_t> HttpResponse::content_length() const {
  const auto text = header("content-length");
  return text ? parse_whole_number(*text) : std::nullopt;
}

bool HttpResponse::is_redirect() const {
  return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

std::optional<uint64_t> parse_whole_number(std::string_view text) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace owlet
