// What tests of the Hub client share: a client with short waits beside a FakeHub.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/temporary_folder.hpp"
#include "data/hub/digest.hpp"
#include "data/hub/hub_client.hpp"
#include "tests/support/fake_hub.hpp"

namespace owlet {

inline std::string digest_of(DigestKind kind, const std::string& content) {
  Digest digest(kind, content.size());
  digest.update(content);
  return digest.finish();
}

inline std::string some_content(size_t bytes) {
  std::string content;
  for (size_t i = 0; content.size() < bytes; ++i) content += "line " + std::to_string(i * 2654435761u % 1000003) + "\n";
  content.resize(bytes);
  return content;
}

class HubClientTest : public testing::Test {
 protected:
  HubClientTest() {
    settings_.endpoint = settings_.datasets_server = hub_.url();
    settings_.cache = folder_ / "hub";
    settings_.token_file = folder_ / "token";
    settings_.metadata_timeout_seconds = settings_.download_timeout_seconds = 0.4;
    settings_.first_wait_seconds = 0.005;
    hooks_.on_message = [this](const std::string& line) { messages_ += line + "\n"; };
    hooks_.should_stop = [this] { return should_stop_.load(); };
  }

  void add_large(const std::string& path, const std::string& content) {
    hub_.change([&](FakeHub& hub) { hub.files[path] = {content, digest_of(DigestKind::sha256, content)}; });
  }
  void add_small(const std::string& path, const std::string& content) {
    hub_.change([&](FakeHub& hub) {
      hub.files[path] = {content, digest_of(DigestKind::git_blob, content)};
      hub.files[path].is_large = false;
    });
  }
  void set_fault(std::function<std::optional<ServerAnswer>(const ServerRequest&)> fault) {
    hub_.change([&](FakeHub& hub) { hub.fault = std::move(fault); });
  }
  /// The next answers to requests for content; nothing stands for a normal one.
  void script_content(std::vector<std::optional<ServerAnswer>> answers) {
    auto next = std::make_shared<size_t>(0);
    set_fault([answers = std::move(answers), next](const ServerRequest& request) -> std::optional<ServerAnswer> {
      if (!FakeHub::is_content(request) || *next >= answers.size()) return std::nullopt;
      return answers[(*next)++];
    });
  }

  CachedFile fetch(const std::string& path, const std::string& revision = "main") {
    HubClient client(settings_, hooks_);
    TransferMeter meter(hooks_, 1, 0);
    return client.fetch("org/set", revision, path, meter);
  }
  /// The error of a fetch that must fail.
  Error fetch_error(const std::string& path, const std::string& revision = "main") {
    try {
      fetch(path, revision);
    } catch (const Error& error) {
      return error;
    }
    ADD_FAILURE() << "the fetch of " << path << " did not fail";
    return Error(ErrorKind::internal, "none");
  }
  std::filesystem::path repo_folder() const { return settings_.cache / "datasets--org--set"; }
  std::filesystem::path incomplete_of(const std::string& content) const {
    return repo_folder() / "blobs" / (digest_of(DigestKind::sha256, content) + ".incomplete");
  }
  void expect_no_incomplete() const {
    for (const auto& entry : std::filesystem::directory_iterator(repo_folder() / "blobs")) {
      EXPECT_NE(entry.path().extension(), ".incomplete") << entry.path();
    }
  }
  /// Content requests so far, as the Range each asked for.
  std::vector<std::string> ranges() {
    std::vector<std::string> asked;
    for (const ServerRequest& request : hub_.server().requests()) {
      if (FakeHub::is_content(request)) asked.push_back(request.header("range"));
    }
    return asked;
  }

  TemporaryFolder folder_;
  std::atomic<bool> should_stop_{false};
  std::string messages_;
  FakeHub hub_;
  HubSettings settings_;
  HubHooks hooks_;
};

}  // namespace owlet
