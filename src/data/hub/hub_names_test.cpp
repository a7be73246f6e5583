// Names, addresses, digests and waits: the small parts of the Hub client.
#include "data/hub/hub_names.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "data/hub/digest.hpp"
#include "data/hub/retry_wait.hpp"
#include "data/hub/transfer_meter.hpp"
#include "data/hub/url.hpp"

namespace owlet {
namespace {

TEST(HubNames, Repositories) {
  for (const char* good : {"org/name", "a/b", "roneneldan/TinyStories", "x_y/z.1-2", "squad"}) check_repo_name(good);
  for (const char* bad :
       {"", "/", "a/", "/b", "a/b/c", "a--b/c", "a/..", "a/b..c", "-a/b", "a/b-", ".a/b", "a b/c", "a/b\n", "a/é"}) {
    EXPECT_THROW(check_repo_name(bad), Error) << bad;
  }
  EXPECT_THROW(check_repo_name(std::string(97, 'a')), Error);
}

TEST(HubNames, Paths) {
  for (const char* good : {"a", "a/b.txt", "a b", "..a", "a..", "...", "é/猫"}) EXPECT_TRUE(is_safe_path(good)) << good;
  for (const char* bad : {"", "/", "/a", "a/", "a//b", ".", "..", "../a", "a/..", "a/../b", "./a", "a\\b", "a\nb"}) {
    EXPECT_FALSE(is_safe_path(bad)) << bad;
  }
  EXPECT_FALSE(is_safe_path(std::string_view("a\0b", 3)));
  EXPECT_FALSE(is_safe_path(std::string(256, 'a')));
}

TEST(HubNames, Patterns) {
  EXPECT_TRUE(matches_pattern("data/train-0.parquet", "data/train-*.parquet"));
  EXPECT_TRUE(matches_pattern("data/a/b.parquet", "data/*.parquet"));
  EXPECT_TRUE(matches_pattern("data/a", "data/"));
  EXPECT_TRUE(matches_pattern("abc", "a?c"));
  EXPECT_TRUE(matches_pattern("abcabd", "*ab?"));
  EXPECT_TRUE(matches_pattern("", "*"));
  EXPECT_FALSE(matches_pattern("data2/a", "data/"));
  EXPECT_FALSE(matches_pattern("abc", "ab"));
  EXPECT_FALSE(matches_pattern("abc", "?abc"));
  const std::string many(5000, 'a');
  EXPECT_FALSE(matches_pattern(many, "*a*a*a*a*a*a*b"));
}

TEST(HubNames, EntityTags) {
  EXPECT_EQ(normalize_etag("\"abc\""), "abc");
  EXPECT_EQ(normalize_etag("W/\"abc\""), "abc");
  EXPECT_EQ(normalize_etag("abc"), "abc");
  EXPECT_EQ(digest_kind_of(std::string(64, 'a')), DigestKind::sha256);
  EXPECT_EQ(digest_kind_of(std::string(40, 'a')), DigestKind::git_blob);
  EXPECT_FALSE(digest_kind_of(std::string(40, 'g')));
  EXPECT_FALSE(digest_kind_of(std::string(32, 'a')));
}

TEST(HubNames, DigestsOfKnownContents) {
  Digest empty(DigestKind::sha256, 0);
  EXPECT_EQ(empty.finish(), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  Digest blob(DigestKind::git_blob, 12);  // git hash-object: "hello world\n"
  blob.update("hello ");
  blob.update("world\n");
  EXPECT_EQ(blob.finish(), "3b18e512dba79e4c8300dd08aeb37f8e728b8dad");
}

TEST(HubNames, Addresses) {
  EXPECT_EQ(percent_encode("refs/convert/parquet", false), "refs%2Fconvert%2Fparquet");
  EXPECT_EQ(percent_encode("a b/é", true), "a%20b/%C3%A9");
  EXPECT_EQ(percent_decode("a%20b%2Fc"), "a b/c");
  EXPECT_FALSE(percent_decode("a%2"));
  EXPECT_FALSE(percent_decode("%zz"));
  EXPECT_EQ(origin_of("https://HuggingFace.co/a"), "https://huggingface.co:443");
  EXPECT_NE(origin_of("http://127.0.0.1:1/a"), origin_of("http://127.0.0.1:2/a"));
  EXPECT_NE(origin_of("http://huggingface.co"), origin_of("https://huggingface.co"));
  EXPECT_EQ(redirect_target("https://a/b/c?d", "/e"), "https://a/e");
  EXPECT_EQ(redirect_target("https://a/b/c", "e"), "https://a/b/e");
  EXPECT_EQ(redirect_target("https://a/b", "//c/d"), "https://c/d");
  for (const char* bad : {"http://a/b", "file:///etc/passwd", "gopher://a", "https://a/\r\nx: y"}) {
    EXPECT_THROW(redirect_target("https://a/b", bad), Error) << bad;
  }
}

TEST(HubNames, RetryAfter) {
  const auto now = std::chrono::system_clock::from_time_t(784111777);  // Sun, 06 Nov 1994 08:49:37 GMT
  EXPECT_EQ(parse_retry_after("120", now), 120);
  EXPECT_EQ(parse_retry_after("Sun, 06 Nov 1994 08:50:07 GMT", now), 30);
  EXPECT_EQ(parse_retry_after("Sun, 06 Nov 1994 08:49:07 GMT", now), 0);
  EXPECT_GT(*parse_retry_after("Sun, 06 Nov 2611 08:49:37 GMT", now), 1e10);
  for (const char* bad : {"", "soon", "-5", "1.5.2"}) EXPECT_FALSE(parse_retry_after(bad, now)) << bad;
  HttpResponse response;
  response.headers["ratelimit"] = "\"api\";r=0;t=55";
  EXPECT_EQ(asked_wait_seconds(response, now), 55);
  response.headers["ratelimit"] = "\"api\";r=3;t=55";
  EXPECT_FALSE(asked_wait_seconds(response, now));
}

TEST(HubNames, WaitsDouble) {
  Backoff backoff(1);
  EXPECT_EQ(backoff.next(), 1);
  EXPECT_EQ(backoff.next(), 2);
  EXPECT_EQ(backoff.next(10), 10);
  EXPECT_EQ(backoff.next(3), 8);
  for (int i = 0; i < 40; ++i) EXPECT_LE(backoff.next(), 32);
  backoff.reset();
  EXPECT_EQ(backoff.next(), 1);
}

TEST(HubNames, SpeedAndTimeLeft) {
  HubProgress last;
  HubHooks hooks;
  hooks.on_progress = [&](const HubProgress& progress) { last = progress; };
  TransferMeter meter(hooks, 2, 3000);
  const auto start = TransferMeter::Clock::now() + std::chrono::seconds(1);
  meter.begin_file("a", 1000, 2000);
  EXPECT_EQ(last.bytes, 1000u);
  EXPECT_LT(last.seconds_left, 0);
  for (int i = 0; i <= 4; ++i) meter.add(100, start + std::chrono::milliseconds(250 * i));
  EXPECT_EQ(last.bytes, 1500u);
  EXPECT_NEAR(last.bytes_per_second, 500, 1);  // what was here before does not count
  EXPECT_NEAR(last.seconds_left, 3, 0.01);
  meter.end_file(2000);
  EXPECT_EQ(last.bytes, 2000u);
  EXPECT_EQ(last.num_files_done, 1u);
}

}  // namespace
}  // namespace owlet
