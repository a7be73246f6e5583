#include "data/catalogue/catalogue.hpp"

#include <gtest/gtest.h>

#include <set>

#include "base/error.hpp"
#include "data/catalogue/dataset_choice.hpp"
#include "data/catalogue/dataset_get.hpp"
#include "data/hub/hub_names.hpp"
#include "data/instruction/instruction_format.hpp"
#include "tests/support/hub_client_fixture.hpp"

namespace owlet {
namespace {

TEST(Catalogue, EntriesAreComplete) {
  std::set<std::string> names;
  for (const CatalogueSet& set : catalogue()) {
    EXPECT_TRUE(names.insert(set.name).second) << set.name;
    check_repo_name(set.repo);
    EXPECT_NE(set.repo.find('/'), std::string::npos) << set.name;
    for (const std::string& text : {set.licence, set.format, set.layout, set.content, set.purpose}) {
      EXPECT_FALSE(text.empty()) << set.name;
    }
    EXPECT_GT(set.bytes, 0u) << set.name;
    ASSERT_FALSE(set.parts.empty()) << set.name;
    EXPECT_EQ(set.parts[0].split, "train") << set.name;
    if (set.kind != DatasetKind::text) {
      EXPECT_EQ(find_instruction_format(set.layout).name, set.layout);
    }
    for (const CataloguePart& part : set.parts) EXPECT_TRUE(is_safe_path(part.pattern)) << part.pattern;
  }
  EXPECT_EQ(find_catalogue_set("tiny-stories")->repo, "roneneldan/TinyStories");
  EXPECT_EQ(find_catalogue_set("Tiny-Stories"), nullptr);
}

TEST(Catalogue, DataFiles) {
  for (const char* yes : {"a.parquet", "d/a.jsonl", "a.jsonl.zst", "a.json.gz", "a.txt"})
    EXPECT_TRUE(is_data_file(yes)) << yes;
  for (const char* no : {"README.md", "a.py", ".txt", "a.tar.gz", "dataset_infos.json", "a.parquet.crc"}) {
    EXPECT_FALSE(is_data_file(no)) << no;
  }
}

class DatasetChoiceTest : public HubClientTest {
 protected:
  DatasetChoice choose(DatasetRequest request) {
    HubClient hub(settings_, hooks_);
    return choose_dataset(hub, request);
  }
};

TEST_F(DatasetChoiceTest, NamedFilesNeedNoListAndOneCommit) {
  hub_.change([](FakeHub& hub) { hub.repo = "roneneldan/TinyStories"; });
  add_large("TinyStories-train.txt", "train");
  add_large("TinyStories-valid.txt", "valid");
  const DatasetChoice choice = choose({.name = "tiny-stories"});
  ASSERT_EQ(choice.files.size(), 2u);
  EXPECT_EQ(choice.files[0].bytes, 5u);
  EXPECT_EQ(choice.files[1].split, "validation");
  EXPECT_EQ(choice.files[1].revision, hub_.commit);
  EXPECT_EQ(hub_.server().count("GET", ""), 0);
  EXPECT_EQ(choose({.name = "tiny-stories", .split = "validation"}).files.size(), 1u);
}

TEST_F(DatasetChoiceTest, PatternsListTheirFolderOnly) {
  hub_.change([](FakeHub& hub) {
    hub.pages["/api/datasets/HuggingFaceFW/fineweb-edu/revision/main"] = {200, {}, "{\"sha\":\"" + hub.commit + "\"}"};
    hub.pages["/api/datasets/HuggingFaceFW/fineweb-edu/tree/" + hub.commit + "/sample/10BT?recursive=true"] = {
        200, {}, R"([{"type":"file","path":"sample/10BT/001.parquet","oid":"1","size":2},
                     {"type":"file","path":"sample/10BT/000.parquet","oid":"1","size":1},
                     {"type":"file","path":"sample/10BT/note.md","oid":"1","size":1}])"};
  });
  const DatasetChoice choice = choose({.name = "fineweb-edu-10bt", .max_files = 1});
  ASSERT_EQ(choice.files.size(), 1u);
  EXPECT_EQ(choice.files[0].path, "sample/10BT/000.parquet");
  EXPECT_EQ(choice.format, "parquet");
}

TEST_F(DatasetChoiceTest, AddressesOfPagesAreNamesToo) {
  hub_.change([](FakeHub& hub) {
    const std::string branch = "/api/datasets/org/set/revision/dev";
    hub.pages[branch] = {200, {}, "{\"sha\":\"" + hub.commit + "\"}"};
    hub.pages["/api/datasets/org/set/tree/" + hub.commit + "?recursive=true"] = {
        200, {}, R"([{"type":"file","path":"a.jsonl","oid":"1","size":2}])"};
  });
  for (const char* name :
       {"org/set", "datasets/org/set", "hf://datasets/org/set", "https://huggingface.co/datasets/org/set",
        "https://huggingface.co/datasets/org/set/tree/main?x=1"}) {
    EXPECT_EQ(choose({.name = name, .revision = "dev"}).repo, "org/set") << name;
  }
  EXPECT_EQ(choose({.name = "hf://datasets/org/set@dev"}).revision, "dev");
}

TEST_F(DatasetChoiceTest, TooLittleDiskIsSaidForTheWholeSet) {
  HubClient hub(settings_, hooks_);
  DatasetChoice choice;
  choice.name = choice.repo = "org/set";
  choice.files = {{"main", "a.txt", "train", uint64_t{1} << 60}, {"main", "b.txt", "train", 5}};
  try {
    fetch_dataset(hub, choice);
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::io);
    EXPECT_NE(std::string(error.what()).find("1.2 EB"), std::string::npos) << error.what();
  }
  EXPECT_TRUE(hub_.server().requests().empty());
}

}  // namespace
}  // namespace owlet
