#include "train/run_folder.hpp"

#include <gtest/gtest.h>

#include "base/atomic_file.hpp"
#include "base/error.hpp"
#include "tests/support/tiny_training.hpp"

namespace owlet {
namespace {

namespace fs = std::filesystem;
using testing::tiny_recipe;

template <typename Body>
std::string error_of(Body body) {
  try {
    body();
  } catch (const Error& error) {
    return std::string(error.what()) + " | " + error.hint();
  }
  return "no error";
}

TEST(RunFolder, holds_the_recipe_and_where_the_data_are) {
  TemporaryFolder folder;
  {
    const RunFolder run = RunFolder::create(folder / "run", tiny_recipe(33), "some/data", false);
    EXPECT_TRUE(is_run_folder(folder / "run"));
  }
  const RunFolder run = RunFolder::open(folder / "run");
  EXPECT_EQ(run.recipe().horizon.steps, 33);
  EXPECT_EQ(run.data_folder(), fs::absolute("some/data"));
}

TEST(RunFolder, an_existing_run_is_replaced_only_by_force) {
  TemporaryFolder folder;
  { RunFolder::create(folder / "run", tiny_recipe(), "d", false).append_log("old"); }
  const std::string error = error_of([&] { RunFolder::create(folder / "run", tiny_recipe(), "d", false); });
  EXPECT_NE(error.find("holds a run already"), std::string::npos) << error;
  EXPECT_NE(error.find("owlet resume"), std::string::npos) << error;
  EXPECT_TRUE(fs::exists(folder / "run" / "log.txt"));
  const RunFolder run = RunFolder::create(folder / "run", tiny_recipe(), "d", true);
  EXPECT_FALSE(fs::exists(folder / "run" / "log.txt"));
}

TEST(RunFolder, a_folder_with_other_things_is_left_alone_even_by_force) {
  TemporaryFolder folder;
  write_file_atomically(folder / "thesis.txt", "years of work");
  for (const bool force : {false, true}) {
    const std::string error = error_of([&] { RunFolder::create(folder.path(), tiny_recipe(), "d", force); });
    EXPECT_NE(error.find("holds no run"), std::string::npos) << error;
  }
  EXPECT_EQ(read_file(folder / "thesis.txt"), "years of work");
}

TEST(RunFolder, only_one_can_hold_it) {
  TemporaryFolder folder;
  {
    const RunFolder run = RunFolder::create(folder / "run", tiny_recipe(), "d", false);
    EXPECT_NE(error_of([&] { RunFolder::open(folder / "run"); }).find("another process"), std::string::npos);
    const std::string forced = error_of([&] { RunFolder::create(folder / "run", tiny_recipe(), "d", true); });
    EXPECT_NE(forced.find("another process"), std::string::npos) << forced;
    EXPECT_TRUE(is_run_folder(folder / "run"));
  }
  EXPECT_EQ(error_of([&] { RunFolder::open(folder / "run"); }), "no error");
}

TEST(RunFolder, opening_what_is_no_run_names_what_is_missing) {
  TemporaryFolder folder;
  EXPECT_NE(error_of([&] { RunFolder::open(folder.path()); }).find("it has no run.json"), std::string::npos);
}

TEST(RunFolder, cutting_back_drops_later_lines_and_half_written_ones) {
  TemporaryFolder folder;
  const RunFolder run = RunFolder::create(folder / "run", tiny_recipe(), "d", false);
  for (const int step : {1, 2, 3, 4}) {
    run.append_metrics({{"step", step}, {"loss", 1.5}});
    run.append_sample(step, "Once", " upon\na time");
  }
  const fs::path metrics = run.path() / "metrics.jsonl";
  const std::string whole = read_file(metrics);
  for (const char* half_written : {"{\"step\":1,\"lo", "{\"step\":1}"}) {
    write_file_atomically(metrics, whole + half_written);
    run.cut_back_to(4);
    EXPECT_EQ(read_file(metrics), whole);
  }
  run.cut_back_to(2);
  EXPECT_EQ(read_file(metrics), "{\"step\":1,\"loss\":1.5}\n{\"step\":2,\"loss\":1.5}\n");
  EXPECT_EQ(read_file(run.path() / "samples.md"),
            "## Step 1\n\n> **Once** upon\n> a time\n\n## Step 2\n\n> **Once** upon\n> a time\n\n");
  run.cut_back_to(0);
  EXPECT_EQ(read_file(metrics), "");
}

TEST(RunFolder, a_start_that_was_killed_early_does_not_block_the_next_one) {
  TemporaryFolder folder;
  { RunFolder::create(folder / "run", tiny_recipe(), "d", false); }
  fs::remove(folder / "run" / "run.json");
  EXPECT_EQ(error_of([&] { RunFolder::create(folder / "run", tiny_recipe(), "d", false); }), "no error");
}

}  // namespace
}  // namespace owlet
