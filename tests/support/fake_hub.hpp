// A Hub for tests: files of one data set behind the addresses of the real one, with faults that a test switches on.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "tests/support/misbehaving_server.hpp"

namespace owlet {

struct FakeFile {
  std::string content;
  std::string etag;            ///< as the Hub would give it: SHA-256 (large) or git SHA-1
  bool is_large = true;        ///< answered by a redirect to storage with X-Linked-*
  std::string storage = {};    ///< where large files lie; empty: the hub itself under /storage/
  int64_t claimed_bytes = -1;  ///< size to announce instead of the right one
};

/// Answers HEAD and GET of /datasets/REPO/resolve/REVISION/PATH and /storage/PATH for the files in `files`; other
/// targets come from `pages` (target → JSON). `next_answers` go first, one per GET of a file's content (see `content`).
class FakeHub {
 public:
  std::string repo = "org/set";
  std::string commit = std::string(39, 'a') + "1";
  std::map<std::string, FakeFile> files;
  std::map<std::string, ServerAnswer> pages;
  /// Called for each request first; an answer from here replaces the normal one. Runs under the hub's mutex.
  std::function<std::optional<ServerAnswer>(const ServerRequest&)> fault;
  bool supports_range = true;

  FakeHub() : server_([this](const ServerRequest& request) { return answer(request); }) {}

  MisbehavingServer& server() { return server_; }
  std::string url() const { return server_.url(); }
  /// Changes what tests share with the server's threads.
  template <typename Change>
  void change(Change edit) {
    const std::lock_guard lock(mutex_);
    edit(*this);
  }

  /// The content from where the request's Range begins, as a well-behaved server would send it.
  ServerAnswer content_answer(const ServerRequest& request, const std::string& content) const {
    ServerAnswer reply;
    const std::string range = request.header("range");
    if (!supports_range || range.empty()) {
      reply.body = content;
      return reply;
    }
    const size_t first = std::stoull(range.substr(range.find('=') + 1));
    if (first >= content.size()) {
      reply.status = 416;
      reply.headers = {{"Content-Range", "bytes */" + std::to_string(content.size())}};
      return reply;
    }
    reply.status = 206;
    reply.body = content.substr(first);
    reply.headers = {{"Content-Range", "bytes " + std::to_string(first) + "-" + std::to_string(content.size() - 1) +
                                           "/" + std::to_string(content.size())}};
    return reply;
  }

  /// True for requests of a file's bytes.
  static bool is_content(const ServerRequest& request) {
    return request.method == "GET" &&
           (request.target.find("/storage/") == 0 || request.target.find("/resolve/") != std::string::npos);
  }

 private:
  ServerAnswer answer(const ServerRequest& request) {
    const std::lock_guard lock(mutex_);
    if (fault) {
      if (auto reply = fault(request)) return *reply;
    }
    const auto page = pages.find(request.target);
    if (page != pages.end()) return page->second;
    if (request.target.rfind("/storage/", 0) == 0) {
      const auto file = files.find(request.target.substr(9));
      if (file != files.end()) return content_answer(request, file->second.content);
    }
    const std::string prefix = "/datasets/" + repo + "/resolve/";
    if (request.target.rfind(prefix, 0) == 0) {
      const std::string rest = request.target.substr(prefix.size());
      const auto file = files.find(rest.substr(rest.find('/') + 1));
      if (file != files.end()) return file_answer(request, file->first, file->second);
      return {404,
              {{"X-Error-Code", "EntryNotFound"}, {"X-Error-Message", "Entry not found"}, {"X-Repo-Commit", commit}}};
    }
    return {404, {{"X-Error-Code", "RepoNotFound"}, {"X-Error-Message", "Repository not found"}}};
  }

  ServerAnswer file_answer(const ServerRequest& request, const std::string& path, const FakeFile& file) const {
    const std::string size =
        std::to_string(file.claimed_bytes >= 0 ? file.claimed_bytes : static_cast<int64_t>(file.content.size()));
    if (!file.is_large) {
      ServerAnswer reply = content_answer(request, file.content);
      reply.headers.push_back({"X-Repo-Commit", commit});
      reply.headers.push_back({"ETag", "\"" + file.etag + "\""});
      if (file.claimed_bytes >= 0) reply.claimed_bytes = file.claimed_bytes;
      return reply;
    }
    const std::string storage = file.storage.empty() ? url() + "/storage/" : file.storage;
    return {302,
            {{"X-Repo-Commit", commit},
             {"X-Linked-Etag", "\"" + file.etag + "\""},
             {"X-Linked-Size", size},
             {"ETag", "\"something-else\""},
             {"Location", storage + path}}};
  }

  std::mutex mutex_;
  MisbehavingServer server_;
};

}  // namespace owlet
