#include "data/hub/hub_settings.hpp"

#include <gtest/gtest.h>

#include <map>

#include "base/atomic_file.hpp"
#include "base/error.hpp"
#include "base/temporary_folder.hpp"

namespace owlet {
namespace {

HubSettings read_with(std::map<std::string, std::string> variables, const std::string& endpoint = "") {
  variables.emplace("HOME", "/home/someone");
  return read_hub_settings(endpoint, [variables](const char* name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() || found->second.empty() ? std::nullopt : std::optional(found->second);
  });
}

TEST(HubSettings, PlacesGoByTheRulesOfHuggingFace) {
  EXPECT_EQ(read_with({}).cache, "/home/someone/.cache/huggingface/hub");
  EXPECT_EQ(read_with({}).token_file, "/home/someone/.cache/huggingface/token");
  EXPECT_EQ(read_with({{"XDG_CACHE_HOME", "/x"}}).cache, "/x/huggingface/hub");
  EXPECT_EQ(read_with({{"XDG_CACHE_HOME", "/x"}, {"HF_HOME", "/h"}}).cache, "/h/hub");
  EXPECT_EQ(read_with({{"HF_HOME", "~/h"}}).cache, "/home/someone/h/hub");
  EXPECT_EQ(read_with({{"HF_HOME", "$DISK/${NAME}/$UNKNOWN"}, {"DISK", "/d"}, {"NAME", "n"}}).cache,
            "/d/n/$UNKNOWN/hub");
  EXPECT_EQ(read_with({{"HF_HOME", "/h"}, {"HUGGINGFACE_HUB_CACHE", "/old"}}).cache, "/old");
  EXPECT_EQ(read_with({{"HF_HUB_CACHE", "/c"}, {"HUGGINGFACE_HUB_CACHE", "/old"}}).cache, "/c");
  EXPECT_EQ(read_with({{"HF_HOME", "/h"}, {"HF_TOKEN_PATH", "/t"}}).token_file, "/t");
}

TEST(HubSettings, Endpoints) {
  EXPECT_EQ(read_with({}).endpoint, "https://huggingface.co");
  EXPECT_EQ(read_with({}).datasets_server, "https://datasets-server.huggingface.co");
  EXPECT_EQ(read_with({{"HF_ENDPOINT", "https://mirror.example/"}}).endpoint, "https://mirror.example");
  EXPECT_EQ(read_with({{"HF_ENDPOINT", "https://mirror.example/"}}).datasets_server, "https://mirror.example");
  const HubSettings chosen = read_with(
      {{"HF_ENDPOINT", "https://mirror.example"}, {"HF_DATASETS_SERVER", "http://s:1"}}, "http://127.0.0.1:8000/");
  EXPECT_EQ(chosen.endpoint, "http://127.0.0.1:8000");
  EXPECT_EQ(chosen.datasets_server, "http://s:1");
  for (const char* bad :
       {"huggingface.co", "ftp://huggingface.co", "file:///etc", "https://name:word@huggingface.co"}) {
    EXPECT_THROW(read_with({}, bad), Error) << bad;
  }
}

TEST(HubSettings, TokensGoByTheirOrder) {
  TemporaryFolder folder;
  write_file_atomically(folder / "token", " from_file\n");
  const std::string home = folder.path().string();
  EXPECT_EQ(read_with({{"HF_HOME", home}}).token, "from_file");
  EXPECT_EQ(read_with({{"HF_HOME", home}, {"HUGGING_FACE_HUB_TOKEN", "old"}}).token, "old");
  EXPECT_EQ(read_with({{"HF_HOME", home}, {"HUGGING_FACE_HUB_TOKEN", "old"}, {"HF_TOKEN", "new\r\n"}}).token, "new");
  EXPECT_EQ(read_with({{"HF_HOME", home}, {"HF_HUB_DISABLE_IMPLICIT_TOKEN", "yes"}}).token, "");
  EXPECT_EQ(read_with({{"HF_HOME", home + "/none"}}).token, "");
  EXPECT_THROW(read_with({{"HF_TOKEN", "a b"}}), Error);
  EXPECT_THROW(read_with({{"HF_TOKEN", "a\x01"}}), Error);
}

TEST(HubSettings, SwitchesAndTimes) {
  for (const char* yes : {"1", "ON", "yes", "True"})
    EXPECT_TRUE(read_with({{"HF_HUB_OFFLINE", yes}}).is_offline) << yes;
  for (const char* no : {"0", "off", "no", "2"}) EXPECT_FALSE(read_with({{"HF_HUB_OFFLINE", no}}).is_offline) << no;
  EXPECT_FALSE(read_with({{"HF_HUB_DISABLE_SYMLINKS", "1"}}).uses_symlinks);
  EXPECT_EQ(read_with({{"HF_HUB_ETAG_TIMEOUT", "3"}}).metadata_timeout_seconds, 3);
  EXPECT_EQ(read_with({{"HF_HUB_DOWNLOAD_TIMEOUT", "0.5"}}).download_timeout_seconds, 0.5);
  for (const char* bad : {"x", "0", "-1", "1s", "nan"}) {
    EXPECT_THROW(read_with({{"HF_HUB_DOWNLOAD_TIMEOUT", bad}}), Error) << bad;
  }
}

}  // namespace
}  // namespace owlet
