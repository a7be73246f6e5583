#include "formats/checkpoint_folder.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "base/atomic_file.hpp"
#include "base/error.hpp"
#include "base/log.hpp"

namespace owlet {
namespace {

namespace fs = std::filesystem;

class CheckpointFolderTest : public testing::Test {
 protected:
  void SetUp() override {
    root_ = fs::temp_directory_path() / fmt::format("owlet-checkpoints-{}", getpid());
    fs::remove_all(root_);
    fs::create_directories(root_);
    folder_ = root_ / "checkpoints";
    sink_ = add_log_sink([this](LogLevel level, std::string_view text) {
      if (level == LogLevel::warning) warnings_ += std::string(text) + "\n";
    });
  }
  void TearDown() override {
    remove_log_sink(sink_);
    fs::remove_all(root_);
  }

  fs::path write(int64_t step, const std::string& content = "weights") {
    return write_checkpoint(folder_, step, 1000, [&](const fs::path& working) {
      write_file_atomically(working / "model.safetensors", content + std::to_string(step));
      fs::create_directories(working / "trainer");
      write_file_atomically(working / "trainer/state.json", "{}");
    });
  }

  std::vector<int64_t> steps() const {
    std::vector<int64_t> numbers;
    for (const CheckpointEntry& entry : list_checkpoints(folder_)) numbers.push_back(entry.step);
    return numbers;
  }

  fs::path root_, folder_;
  std::string warnings_;
  int sink_ = 0;
};

TEST_F(CheckpointFolderTest, WritesListsAndMarks) {
  EXPECT_TRUE(list_checkpoints(folder_).empty());
  EXPECT_EQ(marked_checkpoint(folder_, "latest"), std::nullopt);
  EXPECT_EQ(newest_valid_checkpoint(folder_), std::nullopt);
  for (const int64_t step : {5, 100, 20}) write(step);
  EXPECT_EQ(steps(), (std::vector<int64_t>{5, 20, 100}));
  EXPECT_EQ(marked_checkpoint(folder_, "latest"), 20);
  EXPECT_EQ(fs::read_symlink(folder_ / "latest"), "step-20");
  EXPECT_EQ(read_file(folder_ / "latest" / "model.safetensors"), "weights20");
  mark_checkpoint(folder_, "best", 5);
  mark_checkpoint(folder_, "best", 100);
  EXPECT_EQ(marked_checkpoint(folder_, "best"), 100);
  EXPECT_EQ(newest_valid_checkpoint(folder_)->step, 100);
  EXPECT_THROW(mark_checkpoint(folder_, "best", 6), Error);
  EXPECT_THROW(mark_checkpoint(folder_, "step-5", 5), Error);
  EXPECT_THROW(mark_checkpoint(folder_, "../x", 5), Error);
  EXPECT_EQ(marked_checkpoint(folder_, "best"), 100);
}

TEST_F(CheckpointFolderTest, MarksAsTextFilesAreRead) {
  write(7);
  fs::remove(folder_ / "latest");
  write_file_atomically(folder_ / "latest", "step-7\n");
  EXPECT_EQ(marked_checkpoint(folder_, "latest"), 7);
  write_file_atomically(folder_ / "latest", "step-8\n");
  EXPECT_EQ(marked_checkpoint(folder_, "latest"), std::nullopt);
}

TEST_F(CheckpointFolderTest, OtherNamesAreNoCheckpoints) {
  write(3);
  for (const char* name : {"step-", "step-03", "step--1", "step-1x", "step-99999999999999999999", "other"}) {
    fs::create_directories(folder_ / name);
  }
  write_file_atomically(folder_ / "step-9", "a file");
  EXPECT_EQ(steps(), (std::vector<int64_t>{3}));
}

TEST_F(CheckpointFolderTest, ReplacesTheSameStep) {
  write(4, "old");
  write(4, "new");
  EXPECT_EQ(read_file(folder_ / "step-4/model.safetensors"), "new4");
  EXPECT_EQ(steps(), (std::vector<int64_t>{4}));
}

TEST_F(CheckpointFolderTest, FailedWriteLeavesEverythingAsItWas) {
  write(1);
  EXPECT_THROW(write_checkpoint(folder_, 2, 0,
                                [](const fs::path& working) {
                                  write_file_atomically(working / "half", "x");
                                  fail(ErrorKind::io, "disk full");
                                }),
               Error);
  EXPECT_EQ(steps(), (std::vector<int64_t>{1}));
  EXPECT_EQ(marked_checkpoint(folder_, "latest"), 1);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()), 2);
}

TEST_F(CheckpointFolderTest, RefusesWhenTheDiskIsTooSmall) {
  bool was_called = false;
  try {
    write_checkpoint(folder_, 2, uint64_t{1} << 60, [&](const fs::path&) { was_called = true; });
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::io);
    const std::string message = error.what();
    EXPECT_NE(message.find("1152921504606846976 bytes"), std::string::npos) << message;
    EXPECT_NE(message.find("are free at"), std::string::npos) << message;
  }
  EXPECT_FALSE(was_called);
  EXPECT_FALSE(fs::exists(folder_));
}

TEST_F(CheckpointFolderTest, PrunesAllButTheNewestAndTheBest) {
  for (int64_t step = 1; step <= 6; ++step) write(step);
  mark_checkpoint(folder_, "best", 2);
  fs::create_directories(folder_ / "step-7.partial-1");
  EXPECT_EQ(prune_checkpoints(folder_, 2), (std::vector<int64_t>{1, 3, 4}));
  EXPECT_EQ(steps(), (std::vector<int64_t>{2, 5, 6}));
  EXPECT_FALSE(fs::exists(folder_ / "step-7.partial-1"));
  EXPECT_TRUE(prune_checkpoints(folder_, 10).empty());
  EXPECT_THROW(prune_checkpoints(folder_, 0), Error);
}

TEST_F(CheckpointFolderTest, FallsBackOverBrokenOnesAndSaysSo) {
  for (int64_t step = 1; step <= 4; ++step) write(step);
  std::ofstream(folder_ / "step-4/model.safetensors") << "weightsX";  // same size, other bytes
  fs::resize_file(folder_ / "step-3/model.safetensors", 3);
  EXPECT_EQ(newest_valid_checkpoint(folder_)->step, 2);
  EXPECT_NE(warnings_.find("step 4 is broken"), std::string::npos) << warnings_;
  EXPECT_NE(warnings_.find("checksum"), std::string::npos) << warnings_;
  EXPECT_NE(warnings_.find("has 3 bytes, 8 were written"), std::string::npos) << warnings_;
  EXPECT_NE(warnings_.find("going back to step 2"), std::string::npos) << warnings_;
  fs::remove(folder_ / "step-2/trainer/state.json");
  fs::remove(folder_ / "step-1/checkpoint.json");
  EXPECT_THROW(newest_valid_checkpoint(folder_), Error);
}

TEST_F(CheckpointFolderTest, ManifestCannotNameFilesElsewhere) {
  write(1);
  write_file_atomically(root_ / "secret", "s");
  for (const std::string name : {"../../secret", "/etc/hostname", "trainer/../../../secret"}) {
    write_file_atomically(folder_ / "step-1/checkpoint.json",
                          R"({"step":1,"files":[{"name":")" + name + R"(","bytes":1,"crc32":"0"}]})");
    try {
      verify_checkpoint(folder_ / "step-1");
      FAIL() << name;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("no name of a file in the checkpoint"), std::string::npos)
          << error.what();
    }
  }
}

}  // namespace
}  // namespace owlet
