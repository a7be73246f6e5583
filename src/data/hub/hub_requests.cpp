#include "data/hub/hub_requests.hpp"

#include "base/human.hpp"
#include "data/hub/retry_wait.hpp"
#include "data/hub/url.hpp"

namespace owlet {

namespace {

constexpr int kMaxRedirects = 10;
constexpr int kMaxUnreachableAttempts = 3;
constexpr double kLongestWaitSeconds = 600;
constexpr int kUnauthorized = 401, kForbidden = 403, kNotFound = 404, kTooManyRequests = 429;

bool is_transient(const HttpResponse& response) {
  return response.failure == HttpFailure::unreachable || response.failure == HttpFailure::dropped ||
         (response.failure == HttpFailure::none && is_worth_retrying(response.status));
}

/// "https://huggingface.co" of an address there.
std::string server_of(const std::string& url) { return url.substr(0, url.find_first_of("/?", url.find("://") + 3)); }

}  // namespace

std::string describe_failure(const HttpResponse& response) {
  if (response.failure != HttpFailure::none) return response.failure_reason;
  if (response.status == kTooManyRequests) return "status 429, too many requests";
  return fmt::format("status {}", response.status);
}

HubRequests::HubRequests(const HubSettings& settings, const HubHooks& hooks)
    : settings_(settings), hooks_(hooks), endpoint_origin_(origin_of(settings.endpoint)) {}

HttpResponse HubRequests::perform(HttpRequest request) {
  // Sizes and digests are of the bytes as they are stored.
  request.headers.push_back("Accept-Encoding: identity");
  if (!settings_.token.empty() && origin_of(request.url) == endpoint_origin_) {
    request.headers.push_back("Authorization: Bearer " + settings_.token);
  }
  request.should_stop = hooks_.should_stop;
  HttpResponse response = connection_.perform(request);
  check(response.failure != HttpFailure::stopped, ErrorKind::cancelled, "stopped");
  return response;
}

HttpResponse HubRequests::follow(HttpRequest request, std::string* final_url) {
  const auto on_header = request.on_header;
  const auto on_body = request.on_body;
  bool is_redirected = false;
  request.on_header = [&](const HttpResponse& response) {
    is_redirected = response.is_redirect() && response.header("location").has_value();
    return !is_redirected && (!on_header || on_header(response));
  };
  for (int hop = 0; hop <= kMaxRedirects; ++hop) {
    is_redirected = false;
    HttpResponse response = perform(request);
    if (!is_redirected) {
      if (final_url != nullptr) *final_url = request.url;
      return response;
    }
    request.url = redirect_target(request.url, *response.header("location"));
  }
  fail(ErrorKind::io, "{} redirects more than {} times", request.url, kMaxRedirects);
}

void HubRequests::wait(Backoff& backoff, const HttpResponse& response, const HubSubject& subject) {
  const auto asked = asked_wait_seconds(response, std::chrono::system_clock::now());
  if (asked && *asked > kLongestWaitSeconds) {
    throw HubUnreachable(ErrorKind::io,
                         fmt::format("{}: the server wants no request for the next {} ({})", subject.what,
                                     format_duration(*asked), describe_failure(response)),
                         "try again then; what has been downloaded stays");
  }
  const double seconds = backoff.next(asked);
  hooks_.say("{}: {}; trying again in {}", subject.what, describe_failure(response), format_duration(seconds));
  check(sleep_unless_stopped(seconds, hooks_.should_stop), ErrorKind::cancelled, "stopped while waiting for {}",
        subject.what);
}

HttpResponse HubRequests::retry(const std::string& url, const HubSubject& subject,
                                const std::function<HttpResponse()>& attempt) {
  Backoff backoff(settings_.first_wait_seconds);
  while (true) {
    HttpResponse response = attempt();
    if (response.failure == HttpFailure::refused) {
      throw Error(ErrorKind::io, fmt::format("{}: {}", subject.what, describe_failure(response)),
                  "SSL_CERT_FILE names certificates of a network with its own");
    }
    if (!is_transient(response)) return response;
    const bool is_unreachable = response.failure == HttpFailure::unreachable;
    const int num_attempts = backoff.num_waits() + 1;
    if (num_attempts >= settings_.max_attempts || (is_unreachable && num_attempts >= kMaxUnreachableAttempts)) {
      const char* hint =
          response.status == kTooManyRequests && settings_.token.empty()
              ? "wait some minutes, or set HF_TOKEN: the Hub allows more requests to people it knows"
              : "try again later; HF_ENDPOINT names another server, HF_HUB_OFFLINE=1 uses the cache only";
      throw HubUnreachable(ErrorKind::io,
                           fmt::format("{}: no answer from {} after {} attempts: {}", subject.what, server_of(url),
                                       num_attempts, describe_failure(response)),
                           hint);
    }
    wait(backoff, response, subject);
  }
}

HttpResponse HubRequests::send(HttpRequest request, const HubSubject& subject) {
  return retry(request.url, subject, [&] { return perform(request); });
}

Json HubRequests::get_json(const std::string& url, const HubSubject& subject, HttpResponse* answer) {
  HttpRequest request;
  request.url = url;
  request.timeout_seconds = settings_.download_timeout_seconds;
  request.headers = {"Accept: application/json"};
  HttpResponse response = retry(url, subject, [&] { return follow(request); });
  throw_if_failed(response, subject);
  const std::string body = std::move(response.body);
  if (answer != nullptr) *answer = response;
  const std::string type = response.header("content-type").value_or("");
  if (type.starts_with("text/html") || body.starts_with("<")) {
    throw Error(ErrorKind::io, fmt::format("{}: {} answers with a web page instead of data", subject.what, url),
                "a proxy or a login page of the network may stand in between; HF_ENDPOINT must name a Hub");
  }
  return parse_json(body, url);
}

void HubRequests::throw_if_failed(const HttpResponse& response, const HubSubject& subject) const {
  if (response.status >= 200 && response.status < 300) return;
  const std::string code = response.header("x-error-code").value_or("");
  const std::string said = response.header("x-error-message").value_or("");
  const std::string page = fmt::format("{}/datasets/{}", settings_.endpoint, subject.repo);
  const std::string where = fmt::format("set HF_TOKEN (made at {}/settings/tokens) or write the token into {}",
                                        settings_.endpoint, settings_.token_file.string());
  const std::string because = said.empty() ? "" : ": " + said;
  const bool has_token = !settings_.token.empty();
  if (code == "GatedRepo") {
    throw Error(ErrorKind::io,
                fmt::format("{} is given only to people who accept its conditions{}", subject.what, because),
                has_token ? fmt::format("accept them at {} with the account that the token belongs to", page)
                          : fmt::format("accept them at {}, then {}", page, where));
  }
  if (code == "RevisionNotFound") {
    throw Error(ErrorKind::not_found, fmt::format("{} has no revision '{}'{}", subject.repo, subject.revision, because),
                fmt::format("{}/tree/main shows its branches", page));
  }
  if (code == "EntryNotFound") {
    throw Error(ErrorKind::not_found,
                fmt::format("{} does not exist at revision '{}'{}", subject.what, subject.revision, because),
                fmt::format("{}/tree/{} shows its files", page, subject.revision));
  }
  if (response.status == kUnauthorized && said.find("Invalid credentials") != std::string::npos) {
    throw Error(ErrorKind::io, fmt::format("{}: the Hub does not know the token it was given{}", subject.what, because),
                where);
  }
  if (code == "RepoNotFound" || response.status == kUnauthorized || response.status == kNotFound) {
    const bool may_be_hidden = response.status == kUnauthorized || code == "RepoNotFound";
    throw Error(ErrorKind::not_found,
                fmt::format("{} does not exist{} (status {}{})", subject.what,
                            may_be_hidden ? ", or is hidden from you" : "", response.status, because),
                has_token || !may_be_hidden ? fmt::format("check the name at {}", page)
                                            : fmt::format("check the name; for a private set {}", where));
  }
  if (response.status == kForbidden) {
    throw Error(ErrorKind::io, fmt::format("{}: access is denied (status 403{})", subject.what, because),
                has_token ? fmt::format("the token may lack the right to read {}", page) : where);
  }
  fail(ErrorKind::io, "{}: {} answers with status {}{}", subject.what, settings_.endpoint, response.status, because);
}

}  // namespace owlet
