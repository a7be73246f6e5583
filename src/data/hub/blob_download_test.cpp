// Downloads that stop in the middle, come damaged, from servers that are busy, silent or lie.
#include "data/hub/blob_download.hpp"

#include <gtest/gtest.h>

#include "base/atomic_file.hpp"
#include "data/hub/file_lock.hpp"
#include "tests/support/hub_client_fixture.hpp"

namespace owlet {
namespace {

namespace fs = std::filesystem;

TEST_F(HubClientTest, ADroppedConnectionIsContinuedByRange) {
  const std::string content = some_content(100'000);
  add_large("a.txt", content);
  script_content({ServerAnswer{200, {}, content, 60'000}});
  EXPECT_EQ(read_file(fetch("a.txt").path), content);
  EXPECT_EQ(ranges(), (std::vector<std::string>{"", "bytes=60000-"}));
  expect_no_incomplete();
}

TEST_F(HubClientTest, ALaterRunContinuesWhereTheFirstStopped) {
  const std::string content = some_content(100'000);
  add_large("a.txt", content);
  settings_.max_attempts = 2;
  script_content({ServerAnswer{200, {}, content, 60'000}, ServerAnswer{503}});
  const Error error = fetch_error("a.txt");
  EXPECT_EQ(error.kind(), ErrorKind::io);
  EXPECT_NE(error.hint().find("60 kB"), std::string::npos) << error.hint();
  EXPECT_EQ(fs::file_size(incomplete_of(content)), 60'000u);
  EXPECT_FALSE(fs::exists(repo_folder() / "snapshots" / hub_.commit / "a.txt"));
  hub_.server().forget_requests();
  EXPECT_EQ(read_file(fetch("a.txt").path), content);
  EXPECT_EQ(ranges(), (std::vector<std::string>{"bytes=60000-"}));
}

TEST_F(HubClientTest, StoppingKeepsWhatCame) {
  const std::string content = some_content(100'000);
  add_large("a.txt", content);
  script_content({ServerAnswer{200, {}, content, 60'000}});
  hooks_.on_message = [this](const std::string& line) {
    if (line.find("trying again") != std::string::npos) should_stop_ = true;
  };
  EXPECT_EQ(fetch_error("a.txt").kind(), ErrorKind::cancelled);
  EXPECT_EQ(fs::file_size(incomplete_of(content)), 60'000u);
  should_stop_ = false;
  hub_.server().forget_requests();
  EXPECT_EQ(read_file(fetch("a.txt").path), content);
  EXPECT_EQ(ranges(), (std::vector<std::string>{"bytes=60000-"}));
}

TEST_F(HubClientTest, StoppingAtASilentServerIsQuick) {
  add_large("a.txt", "content");
  settings_.download_timeout_seconds = settings_.metadata_timeout_seconds = 30;
  set_fault([this](const ServerRequest&) {
    should_stop_ = true;
    ServerAnswer silence;
    silence.silent_milliseconds = 20'000;
    return silence;
  });
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(fetch_error("a.txt").kind(), ErrorKind::cancelled);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
}

TEST_F(HubClientTest, ServersWithoutRangeStartAgain) {
  const std::string content = some_content(100'000);
  add_large("a.txt", content);
  hub_.change([](FakeHub& hub) { hub.supports_range = false; });
  script_content({ServerAnswer{200, {}, content, 60'000}});
  EXPECT_EQ(read_file(fetch("a.txt").path), content);
  EXPECT_EQ(ranges().size(), 2u);
  EXPECT_NE(messages_.find("cannot continue"), std::string::npos);
}

TEST_F(HubClientTest, PartsThatCannotBelongToTheFileAreDiscarded) {
  const std::string content = some_content(10'000);
  add_large("a.txt", content);
  for (const size_t size : {content.size(), content.size() + 1, content.size() * 2}) {
    fs::remove_all(settings_.cache);
    fs::create_directories(incomplete_of(content).parent_path());
    write_file_atomically(incomplete_of(content), std::string(size, 'x'));
    EXPECT_EQ(read_file(fetch("a.txt").path), content) << size;
    expect_no_incomplete();
  }
}

TEST_F(HubClientTest, AWholePartIsUsedWithoutADownload) {
  const std::string content = some_content(10'000);
  add_large("a.txt", content);
  fs::create_directories(incomplete_of(content).parent_path());
  write_file_atomically(incomplete_of(content), content);
  EXPECT_EQ(read_file(fetch("a.txt").path), content);
  EXPECT_TRUE(ranges().empty());
}

TEST_F(HubClientTest, ADamagedPartIsFoundAndFetchedAgain) {
  const std::string content = some_content(10'000);
  add_large("a.txt", content);
  fs::create_directories(incomplete_of(content).parent_path());
  write_file_atomically(incomplete_of(content), std::string(4'000, 'x'));
  EXPECT_EQ(read_file(fetch("a.txt").path), content);
  EXPECT_EQ(ranges(), (std::vector<std::string>{"bytes=4000-", ""}));
}

TEST_F(HubClientTest, Status416StartsAgain) {
  const std::string content = some_content(10'000);
  add_large("a.txt", content);
  fs::create_directories(incomplete_of(content).parent_path());
  write_file_atomically(incomplete_of(content), content.substr(0, 5'000));
  script_content({ServerAnswer{416, {{"Content-Range", "bytes */5000"}}}});
  EXPECT_EQ(read_file(fetch("a.txt").path), content);
  EXPECT_EQ(ranges(), (std::vector<std::string>{"bytes=5000-", ""}));
}

TEST_F(HubClientTest, Status416ForEverIsAnError) {
  add_large("a.txt", some_content(10'000));
  set_fault([](const ServerRequest& request) -> std::optional<ServerAnswer> {
    if (FakeHub::is_content(request)) return ServerAnswer{416};
    return std::nullopt;
  });
  EXPECT_EQ(fetch_error("a.txt").kind(), ErrorKind::io);
}

TEST_F(HubClientTest, AContentChangedBetweenRunsStartsAgain) {
  const std::string old_content = some_content(50'000), new_content = some_content(60'000) + "new";
  add_large("a.txt", old_content);
  settings_.max_attempts = 1;
  script_content({ServerAnswer{200, {}, old_content, 30'000}, ServerAnswer{503}});
  fetch_error("a.txt");
  ASSERT_TRUE(fs::exists(incomplete_of(old_content)));
  add_large("a.txt", new_content);
  hub_.change([](FakeHub& hub) { hub.commit = std::string(39, 'b') + "2"; });
  set_fault({});
  EXPECT_EQ(read_file(fetch("a.txt").path), new_content);
  EXPECT_EQ(read_file(repo_folder() / "refs/main"), hub_.commit);
  expect_no_incomplete();
}

TEST_F(HubClientTest, AContentChangedDuringADownloadStartsAgain) {
  const std::string old_content = some_content(50'000), new_content = some_content(60'000) + "new";
  add_small("a.txt", old_content);
  script_content({ServerAnswer{200, {{"ETag", digest_of(DigestKind::git_blob, old_content)}}, old_content, 30'000}});
  hooks_.on_message = [&](const std::string& line) {
    if (line.find("trying again") != std::string::npos) add_small("a.txt", new_content);
    messages_ += line + "\n";
  };
  EXPECT_EQ(read_file(fetch("a.txt").path), new_content);
  EXPECT_NE(messages_.find("changed on the server"), std::string::npos) << messages_;
  expect_no_incomplete();
}

TEST_F(HubClientTest, WrongContentIsNeverKept) {
  const std::string content = some_content(10'000);
  std::string wrong = content;
  wrong[5'000] ^= 1;
  add_large("a.txt", content);
  hub_.change([&](FakeHub& hub) { hub.files["a.txt"].content = wrong; });
  const Error error = fetch_error("a.txt");
  EXPECT_EQ(error.kind(), ErrorKind::corrupt_file);
  EXPECT_NE(std::string(error.what()).find(digest_of(DigestKind::sha256, content)), std::string::npos);
  EXPECT_NE(std::string(error.what()).find(digest_of(DigestKind::sha256, wrong)), std::string::npos);
  EXPECT_EQ(ranges().size(), 2u);
  EXPECT_TRUE(fs::is_empty(repo_folder() / "blobs"));
}

TEST_F(HubClientTest, SmallFilesAreCheckedByGitsDigest) {
  add_small("a.txt", "right");
  hub_.change([](FakeHub& hub) { hub.files["a.txt"].content = "wrong"; });
  EXPECT_EQ(fetch_error("a.txt").kind(), ErrorKind::corrupt_file);
}

TEST_F(HubClientTest, WrongSizesAreErrors) {
  const std::string content = some_content(10'000);
  add_large("a.txt", content);
  for (const int64_t claimed : {9'000, 11'000}) {
    hub_.change([&](FakeHub& hub) { hub.files["a.txt"].claimed_bytes = claimed; });
    const Error error = fetch_error("a.txt");
    EXPECT_EQ(error.kind(), ErrorKind::corrupt_file);
    EXPECT_NE(std::string(error.what()).find("10000"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find(std::to_string(claimed)), std::string::npos) << error.what();
  }
}

TEST_F(HubClientTest, MoreBytesThanAnnouncedAreNotWritten) {
  const std::string content = some_content(10'000);
  add_large("a.txt", content);
  set_fault([&](const ServerRequest& request) -> std::optional<ServerAnswer> {
    if (!FakeHub::is_content(request) || request.target.find("/storage/") != 0) return std::nullopt;
    ServerAnswer endless{200,
                         {{"Transfer-Encoding", "chunked"}, {"Content-Length", "x"}},
                         "5000\r\n" + std::string(0x5000, 'y') + "\r\n0\r\n\r\n"};
    endless.headers.pop_back();
    endless.headers.push_back({"Connection", "close"});
    return endless;
  });
  EXPECT_EQ(fetch_error("a.txt").kind(), ErrorKind::corrupt_file);
  EXPECT_TRUE(fs::is_empty(repo_folder() / "blobs"));
}

TEST_F(HubClientTest, AnErrorPageIsNotTakenForTheFile) {
  const std::string content = some_content(10'000), page = "<html>Please log in</html>";
  add_large("a.txt", content);
  set_fault([&](const ServerRequest& request) -> std::optional<ServerAnswer> {
    if (FakeHub::is_content(request)) return ServerAnswer{200, {{"Content-Type", "text/html"}}, page};
    return std::nullopt;
  });
  EXPECT_EQ(fetch_error("a.txt").kind(), ErrorKind::corrupt_file);
  // The same instead of the metadata, as the login page of a network does.
  set_fault([&](const ServerRequest&) { return ServerAnswer{200, {{"Content-Type", "text/html"}}, page}; });
  const Error error = fetch_error("a.txt");
  EXPECT_EQ(error.kind(), ErrorKind::io);
  EXPECT_NE(std::string(error.what()).find("X-Repo-Commit"), std::string::npos) << error.what();
}

TEST_F(HubClientTest, BusyServersAreAskedAgainAfterTheTimeTheyName) {
  add_large("a.txt", "content");
  int num_refusals = 0;
  set_fault([&](const ServerRequest&) -> std::optional<ServerAnswer> {
    if (num_refusals++ < 2) return ServerAnswer{429, {{"Retry-After", "1"}}};
    return std::nullopt;
  });
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(read_file(fetch("a.txt").path), "content");
  EXPECT_GE(std::chrono::steady_clock::now() - start, std::chrono::seconds(2));
  EXPECT_NE(messages_.find("429"), std::string::npos);
}

TEST_F(HubClientTest, EveryPassingStatusIsTriedAgain) {
  for (const int status : {408, 429, 500, 502, 503, 504}) {
    fs::remove_all(settings_.cache);
    add_large("a.txt", "content");
    script_content({ServerAnswer{status}, ServerAnswer{status}});
    EXPECT_EQ(read_file(fetch("a.txt").path), "content") << status;
  }
}

TEST_F(HubClientTest, TooLongAWaitIsAnErrorWithItsLength) {
  add_large("a.txt", "content");
  set_fault([](const ServerRequest&) { return ServerAnswer{429, {{"Retry-After", "86400"}}}; });
  const Error error = fetch_error("a.txt");
  EXPECT_NE(std::string(error.what()).find("1 d"), std::string::npos) << error.what();
}

TEST_F(HubClientTest, SilentAndTricklingServersAreDropped) {
  add_large("a.txt", some_content(1000));
  settings_.max_attempts = 2;
  ServerAnswer silent, slow_header, slow_body;
  silent.silent_milliseconds = 10'000;
  slow_header.headers = {{"X-Repo-Commit", std::string(200, 'c')}};
  slow_header.drip_milliseconds = slow_body.drip_milliseconds = 100;
  slow_header.drips_header = true;
  slow_body.body = some_content(1000);
  for (const auto& [answer, words] :
       {std::pair(silent, "nothing came for 0.4 s"), {slow_header, "nothing came"}, {slow_body, "bytes came in 1."}}) {
    set_fault([answer = answer](const ServerRequest& request) -> std::optional<ServerAnswer> {
      if (answer.body.empty() || FakeHub::is_content(request)) return answer;
      return std::nullopt;
    });
    messages_.clear();
    const auto start = std::chrono::steady_clock::now();
    const Error error = fetch_error("a.txt");
    EXPECT_EQ(error.kind(), ErrorKind::io) << words;
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(8)) << words;
    EXPECT_NE(messages_.find(words), std::string::npos) << messages_;
  }
}

TEST_F(HubClientTest, PartsOfAnotherPlaceAreNotTaken) {
  const std::string content = some_content(10'000);
  add_large("a.txt", content);
  const ServerAnswer elsewhere{206, {{"Content-Range", "bytes 4000-9999/10000"}}, content.substr(4'000)};
  const ServerAnswer nowhere{206, {}, content.substr(5'000)};
  for (const ServerAnswer& answer : {elsewhere, nowhere}) {
    fs::remove_all(settings_.cache);
    hub_.server().forget_requests();
    fs::create_directories(incomplete_of(content).parent_path());
    write_file_atomically(incomplete_of(content), content.substr(0, 5'000));
    script_content({answer});
    EXPECT_EQ(read_file(fetch("a.txt").path), content);
    EXPECT_NE(messages_.find("another place"), std::string::npos) << messages_;
    messages_.clear();
    EXPECT_EQ(ranges(), (std::vector<std::string>{"bytes=5000-", ""}));
  }
}

TEST_F(HubClientTest, NobodyListeningIsSaidAfterThreeAttempts) {
  settings_.endpoint = "http://127.0.0.1:1";
  const Error error = fetch_error("a.txt");
  EXPECT_EQ(error.kind(), ErrorKind::io);
  EXPECT_NE(std::string(error.what()).find("after 3 attempts"), std::string::npos) << error.what();
  EXPECT_NE(error.hint().find("HF_HUB_OFFLINE"), std::string::npos);
}

TEST_F(HubClientTest, ExpiredAddressesAreAskedForAgain) {
  FakeHub storage;
  const std::string content = some_content(50'000);
  storage.change([&](FakeHub& other) {
    other.files["a.txt"] = {content, ""};
    other.fault = [&, step = 0](const ServerRequest&) mutable -> std::optional<ServerAnswer> {
      ++step;
      if (step == 1) return ServerAnswer{200, {}, content, 20'000};
      if (step == 2) return ServerAnswer{403, {}, "<Error>Request has expired</Error>"};
      return std::nullopt;
    };
  });
  add_large("a.txt", content);
  hub_.change([&](FakeHub& hub) { hub.files["a.txt"].storage = storage.url() + "/storage/"; });
  EXPECT_EQ(read_file(fetch("a.txt").path), content);
  EXPECT_EQ(hub_.server().count("HEAD", "a.txt"), 2);
  EXPECT_EQ(storage.server().requests().back().header("range"), "bytes=20000-");
}

TEST_F(HubClientTest, AFullDiskIsSaidBeforeWithNumbers) {
  add_large("a.txt", "content");
  hub_.change([](FakeHub& hub) { hub.files["a.txt"].claimed_bytes = int64_t{1} << 60; });
  const Error error = fetch_error("a.txt");
  EXPECT_EQ(error.kind(), ErrorKind::io);
  EXPECT_NE(std::string(error.what()).find("1.2 EB"), std::string::npos) << error.what();
  EXPECT_NE(std::string(error.what()).find("free"), std::string::npos);
  EXPECT_TRUE(ranges().empty());
}

TEST_F(HubClientTest, WhatAnotherProcessFetchesIsWaitedFor) {
  const std::string content = some_content(10'000), etag = digest_of(DigestKind::sha256, content);
  add_large("a.txt", content);
  const RepoCache cache(settings_.cache, "org/set");
  cache.make_folders(etag);
  std::atomic<bool> is_waiting{false};
  hooks_.on_message = [&](const std::string& line) { is_waiting = line.find("another process") != std::string::npos; };
  std::string read;
  std::thread fetcher;
  {
    const FileLock lock(cache.lock(etag));
    fetcher = std::thread([&] { read = read_file(fetch("a.txt").path); });
    for (int i = 0; i < 500 && !is_waiting; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    EXPECT_TRUE(is_waiting);
    write_file_atomically(cache.blob(etag), content);
  }
  fetcher.join();
  EXPECT_EQ(read, content);
  EXPECT_TRUE(ranges().empty());
}

}  // namespace
}  // namespace owlet
