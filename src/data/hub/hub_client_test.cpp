// The Hub client: the cache's layout, credentials and redirects, refusals, lists of files.
#include "data/hub/hub_client.hpp"

#include <gtest/gtest.h>

#include "base/atomic_file.hpp"
#include "tests/support/hub_client_fixture.hpp"

namespace owlet {
namespace {

namespace fs = std::filesystem;

TEST_F(HubClientTest, LaysFilesOutAsTheCacheOfHuggingFace) {
  const std::string content = some_content(100'000);
  add_large("data/train.txt", content);
  add_small("README.md", "# A set\n");
  const CachedFile file = fetch("data/train.txt");
  const CachedFile card = fetch("README.md");
  const std::string sha256 = digest_of(DigestKind::sha256, content);
  EXPECT_EQ(file.path, repo_folder() / "snapshots" / hub_.commit / "data/train.txt");
  EXPECT_EQ(read_file(file.path), content);
  EXPECT_EQ(fs::read_symlink(file.path), fs::path("../../../blobs") / sha256);
  EXPECT_EQ(fs::read_symlink(card.path), fs::path("../../blobs") / digest_of(DigestKind::git_blob, "# A set\n"));
  EXPECT_EQ(read_file(repo_folder() / "refs/main"), hub_.commit);
  EXPECT_TRUE(fs::is_regular_file(settings_.cache / ".locks/datasets--org--set" / (sha256 + ".lock")));
  EXPECT_TRUE(read_file(settings_.cache / "CACHEDIR.TAG").starts_with("Signature: 8a477f597d28d172789f06886806bc55"));
  expect_no_incomplete();
  EXPECT_FALSE(file.was_cached);
}

TEST_F(HubClientTest, KnownCommitsAndOfflineUseAskNobody) {
  add_large("a.txt", "content");
  fetch("a.txt");
  hub_.server().forget_requests();
  EXPECT_TRUE(fetch("a.txt", hub_.commit).was_cached);
  settings_.is_offline = true;
  EXPECT_TRUE(fetch("a.txt").was_cached);
  EXPECT_TRUE(hub_.server().requests().empty());
  const Error error = fetch_error("b.txt");
  EXPECT_EQ(error.kind(), ErrorKind::not_found);
  EXPECT_NE(std::string(error.what()).find("HF_HUB_OFFLINE"), std::string::npos);
  settings_.is_offline = false;
  EXPECT_TRUE(fetch("a.txt").was_cached);  // a branch may have moved: one question, no content
  EXPECT_EQ(hub_.server().requests().size(), 1u);
}

TEST_F(HubClientTest, CachedFilesServeWhenTheHubIsAway) {
  add_large("a.txt", "content");
  fetch("a.txt");
  set_fault([](const ServerRequest&) { return ServerAnswer{503}; });
  EXPECT_EQ(read_file(fetch("a.txt").path), "content");
  EXPECT_NE(messages_.find("what the cache has"), std::string::npos);
}

TEST_F(HubClientTest, PlainFilesWhereLinksAreNotWanted) {
  settings_.uses_symlinks = false;
  add_large("a.txt", "content");
  add_large("b.txt", "content");
  const CachedFile file = fetch("a.txt");
  EXPECT_FALSE(fs::is_symlink(file.path));
  EXPECT_EQ(read_file(file.path), "content");
  EXPECT_EQ(read_file(fetch("b.txt").path), "content");
  EXPECT_TRUE(fetch("a.txt", hub_.commit).was_cached);
}

TEST_F(HubClientTest, TheTokenNeverReachesAnotherServer) {
  settings_.token = "hf_secret";
  FakeHub storage;
  const std::string content = some_content(50'000);
  storage.change([&](FakeHub& other) {
    other.files["a.txt"] = {content, ""};
    other.fault = [&, first = true](const ServerRequest&) mutable -> std::optional<ServerAnswer> {
      if (!std::exchange(first, false)) return std::nullopt;
      return ServerAnswer{200, {}, content, 20'000};
    };
  });
  add_large("a.txt", content);
  hub_.change([&](FakeHub& hub) { hub.files["a.txt"].storage = storage.url() + "/storage/"; });
  EXPECT_EQ(read_file(fetch("a.txt").path), content);
  ASSERT_EQ(storage.server().requests().size(), 2u);
  for (const ServerRequest& request : storage.server().requests()) {
    EXPECT_EQ(request.header("authorization"), "");
    EXPECT_EQ(request.header("cookie"), "");
  }
  ASSERT_FALSE(hub_.server().requests().empty());
  for (const ServerRequest& request : hub_.server().requests()) {
    EXPECT_EQ(request.header("authorization"), "Bearer hf_secret");
  }
}

TEST_F(HubClientTest, ARedirectOfTheContentItselfLosesTheTokenToo) {
  settings_.token = "hf_secret";
  FakeHub storage;
  storage.change([](FakeHub& other) { other.files["a.txt"] = {"content", ""}; });
  add_small("a.txt", "content");
  script_content({ServerAnswer{302, {{"Location", storage.url() + "/storage/a.txt"}}}});
  EXPECT_EQ(read_file(fetch("a.txt").path), "content");
  ASSERT_EQ(storage.server().requests().size(), 1u);
  EXPECT_EQ(storage.server().requests()[0].header("authorization"), "");
}

TEST_F(HubClientTest, RenamedSetsAreFollowedByRelativeRedirects) {
  settings_.token = "hf_secret";
  add_large("a.txt", "content");
  hub_.change([](FakeHub& hub) { hub.repo = "neworg/newset"; });
  set_fault([](const ServerRequest& request) -> std::optional<ServerAnswer> {
    const std::string old_prefix = "/datasets/org/set/";
    if (request.target.rfind(old_prefix, 0) != 0) return std::nullopt;
    return ServerAnswer{307, {{"Location", "/datasets/neworg/newset/" + request.target.substr(old_prefix.size())}}};
  });
  EXPECT_EQ(read_file(fetch("a.txt").path), "content");
}

TEST_F(HubClientTest, RedirectsInACircleAreAnError) {
  set_fault([](const ServerRequest& request) { return ServerAnswer{307, {{"Location", request.target}}}; });
  EXPECT_EQ(fetch_error("a.txt").kind(), ErrorKind::io);
}

TEST_F(HubClientTest, GatedSetsSayHowToGetAccess) {
  for (const int status : {401, 403}) {
    set_fault([&](const ServerRequest&) {
      return ServerAnswer{status,
                          {{"X-Error-Code", "GatedRepo"}, {"X-Error-Message", "Access to org/set is restricted"}}};
    });
    settings_.token.clear();
    const Error without = fetch_error("a.txt");
    EXPECT_NE(without.hint().find("HF_TOKEN"), std::string::npos);
    EXPECT_NE(without.hint().find(hub_.url() + "/datasets/org/set"), std::string::npos);
    settings_.token = "hf_secret";
    const Error with = fetch_error("a.txt");
    EXPECT_NE(with.hint().find("accept them"), std::string::npos);
    EXPECT_EQ((std::string(with.what()) + with.hint()).find("hf_secret"), std::string::npos);
  }
}

TEST_F(HubClientTest, OtherRefusalsHaveTheirKind) {
  const auto refuse = [&](int status, const std::string& code, const std::string& message) {
    set_fault([=](const ServerRequest&) {
      return ServerAnswer{
          status, {{"X-Error-Code", code}, {"X-Error-Message", message}, {"X-Repo-Commit", std::string(40, 'a')}}};
    });
    return fetch_error("a.txt");
  };
  EXPECT_EQ(refuse(404, "RepoNotFound", "Repository not found").kind(), ErrorKind::not_found);
  EXPECT_NE(refuse(401, "RepoNotFound", "Repository not found").hint().find("HF_TOKEN"), std::string::npos);
  EXPECT_NE(std::string(refuse(404, "RevisionNotFound", "Invalid rev id").what()).find("main"), std::string::npos);
  EXPECT_EQ(refuse(404, "EntryNotFound", "Entry not found").kind(), ErrorKind::not_found);
  EXPECT_TRUE(fs::exists(repo_folder() / ".no_exist" / std::string(40, 'a') / "a.txt"));
  settings_.token = "hf_old";
  EXPECT_NE(std::string(refuse(401, "", "Invalid credentials in Authorization header").what()).find("token"),
            std::string::npos);
}

TEST_F(HubClientTest, NamesThatLeaveTheirFolderAreRefused) {
  for (const char* path : {"../x", "a/../../x", "/etc/passwd", "", "a//b", "./a", "a\\b"}) {
    EXPECT_EQ(fetch_error(path).kind(), ErrorKind::corrupt_file) << path;
  }
  EXPECT_EQ(fetch_error("a.txt", "../main").kind(), ErrorKind::invalid_argument);
  EXPECT_TRUE(hub_.server().requests().empty());
  for (const char* etag : {"../../x", ".hidden", "a/b"}) {
    set_fault([&](const ServerRequest&) {
      return ServerAnswer{200, {{"X-Repo-Commit", std::string(40, 'a')}, {"ETag", etag}}, "x"};
    });
    EXPECT_EQ(fetch_error("a.txt").kind(), ErrorKind::io) << etag;
  }
  set_fault([](const ServerRequest&) {
    return ServerAnswer{200, {{"X-Repo-Commit", "../../x"}, {"ETag", std::string(40, 'a')}}, "x"};
  });
  EXPECT_EQ(fetch_error("a.txt").kind(), ErrorKind::io);
}

TEST_F(HubClientTest, ListsAreReadPageByPageAndKept) {
  const std::string base = "/api/datasets/org/set/tree/" + hub_.commit + "?recursive=true";
  const auto page = [](const std::string& body) {
    return ServerAnswer{200, {{"Content-Type", "application/json"}}, body};
  };
  ServerAnswer first = page(R"([{"type":"directory","path":"data","oid":"x","size":0},
      {"type":"file","path":"b.txt","oid":"11","size":3}])");
  first.headers.push_back({"Link", "<" + hub_.url() + base + "&cursor=2>; rel=\"next\""});
  hub_.change([&](FakeHub& hub) {
    hub.pages["/api/datasets/org/set/revision/main"] = page("{\"sha\":\"" + hub.commit + "\"}");
    hub.pages[base] = first;
    hub.pages[base + "&cursor=2"] = page(
        R"([{"type":"file","path":"a.txt","oid":"22","size":133,"lfs":{"oid":"abc","size":5000,"pointerSize":133}}])");
  });
  HubClient client(settings_, hooks_);
  EXPECT_EQ(client.resolve("org/set", "main"), hub_.commit);
  const auto files = client.list_files("org/set", hub_.commit);
  ASSERT_EQ(files.size(), 2u);
  EXPECT_EQ(files[0].path, "a.txt");
  EXPECT_EQ(files[0].bytes, 5000u);
  EXPECT_EQ(files[0].sha256, "abc");
  EXPECT_EQ(files[1].bytes, 3u);
  hub_.server().forget_requests();
  settings_.is_offline = true;
  EXPECT_EQ(client.resolve("org/set", "main"), hub_.commit);
  EXPECT_EQ(client.list_files("org/set", hub_.commit).size(), 2u);
  EXPECT_TRUE(hub_.server().requests().empty());
}

TEST_F(HubClientTest, HostileListsAreRefused) {
  const std::string target = "/api/datasets/org/set/tree/main?recursive=true";
  HubClient client(settings_, hooks_);
  const auto expect_refused = [&](ServerAnswer answer, ErrorKind kind) {
    hub_.change([&](FakeHub& hub) { hub.pages[target] = std::move(answer); });
    try {
      client.list_files("org/set", "main");
      ADD_FAILURE() << hub_.pages[target].body;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), kind) << error.what();
    }
  };
  expect_refused({200, {}, R"([{"type":"file","path":"../x","oid":"1","size":1}])"}, ErrorKind::corrupt_file);
  expect_refused({200, {}, R"([{"type":"file","path":"x","oid":"1","size":-1}])"}, ErrorKind::corrupt_file);
  expect_refused({200, {}, R"({"error":"no"})"}, ErrorKind::corrupt_file);
  expect_refused({200, {}, "[[[["}, ErrorKind::corrupt_file);
  expect_refused({200, {{"Content-Type", "text/html"}}, "<html>"}, ErrorKind::io);
  expect_refused({200, {{"Link", "<" + hub_.url() + target + ">; rel=\"next\""}}, "[]"}, ErrorKind::corrupt_file);
  expect_refused({200, {{"Link", "<http://127.0.0.1:1/x>; rel=\"next\""}}, "[]"}, ErrorKind::io);
}

TEST(HubParsers, ContentRange) {
  EXPECT_EQ(parse_content_range("bytes 5-9/10")->first, 5u);
  EXPECT_EQ(parse_content_range("bytes 5-9/10")->total, 10u);
  EXPECT_FALSE(parse_content_range("bytes 5-9/*")->total);
  EXPECT_FALSE(parse_content_range("bytes */10")->first);
  for (const char* bad : {"", "bytes", "bytes 5", "bytes 9-5/10", "bytes -5/10", "items 5-9/10", "bytes 5-9/x"}) {
    EXPECT_FALSE(parse_content_range(bad)) << bad;
  }
}

TEST(HubParsers, NextLink) {
  EXPECT_EQ(next_link("<https://x/y?a=1>; rel=\"next\""), "https://x/y?a=1");
  EXPECT_EQ(next_link("<https://x/1>; rel=\"prev\", <https://x/2>; rel=\"next\""), "https://x/2");
  EXPECT_FALSE(next_link("<https://x/1>; rel=\"prev\""));
  EXPECT_FALSE(next_link("<https://x/1"));
  EXPECT_FALSE(next_link(""));
}

}  // namespace
}  // namespace owlet
