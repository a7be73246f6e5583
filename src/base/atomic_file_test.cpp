#include "base/atomic_file.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

#include "base/error.hpp"
#include "base/temporary_folder.hpp"

namespace owlet {
namespace {

namespace fs = std::filesystem;

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

int count_entries(const fs::path& folder) {
  int count = 0;
  for ([[maybe_unused]] const auto& entry : fs::directory_iterator(folder)) ++count;
  return count;
}

TEST(AtomicFile, AppearsOnlyWithCommit) {
  const TemporaryFolder folder;
  write_file_atomically(folder / "a", "old");
  {
    AtomicFile file(folder / "a");
    file.write("new");
    EXPECT_EQ(read_file(folder / "a"), "old");
  }
  EXPECT_EQ(read_file(folder / "a"), "old");
  EXPECT_EQ(count_entries(folder.path()), 1);
  AtomicFile file(folder / "a");
  file.write("new");
  file.commit();
  EXPECT_EQ(read_file(folder / "a"), "new");
  EXPECT_EQ(count_entries(folder.path()), 1);
  EXPECT_THROW(file.commit(), Error);
}

TEST(AtomicFile, GathersSmallAndPassesLargeWrites) {
  const TemporaryFolder folder;
  std::string expected;
  AtomicFile file(folder / "a");
  for (int i = 0; i < 50; ++i) {
    const std::string part(static_cast<size_t>(i % 7 == 6 ? 1500000 : 30000 * i), static_cast<char>('a' + i % 26));
    file.write(part);
    expected += part;
    ASSERT_EQ(file.position(), expected.size());
  }
  file.commit();
  EXPECT_TRUE(read_file(folder / "a") == expected);
}

TEST(AtomicFile, WriteAtOverwritesWhatIsWritten) {
  const TemporaryFolder folder;
  AtomicFile file(folder / "a");
  file.write("....abc");
  file.write_at(0, bytes_of("head"));
  file.write("def");
  file.write_at(9, bytes_of("F"));
  EXPECT_THROW(file.write_at(9, bytes_of("xy")), Error);
  try {
    file.write_at(~uint64_t{0}, bytes_of("xy"));
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::invalid_argument);
  }
  file.commit();
  EXPECT_EQ(read_file(folder / "a"), "headabcdeF");
}

TEST(AtomicFile, MissingFolderIsNotFound) {
  const TemporaryFolder folder;
  try {
    AtomicFile file(folder / "no/such/file");
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::not_found);
    EXPECT_NE(std::string(error.what()).find("no/such/file"), std::string::npos);
  }
}

// A limit on the file size refuses writes as a full disk does.
TEST(AtomicFile, RefusedWriteNamesPathAndBytesAndKeepsTheOldFile) {
  const TemporaryFolder folder;
  write_file_atomically(folder / "a", "old");
  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &limit), 0);
  const rlimit small{4096, limit.rlim_max};
  const auto previous_handler = signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &small);
  std::string message;
  ErrorKind kind = ErrorKind::internal;
  try {
    write_file_atomically(folder / "a", std::string(10000, 'x'));
  } catch (const Error& error) {
    message = error.what();
    kind = error.kind();
  }
  setrlimit(RLIMIT_FSIZE, &limit);
  signal(SIGXFSZ, previous_handler);
  EXPECT_EQ(kind, ErrorKind::io);
  EXPECT_NE(message.find((folder / "a").string()), std::string::npos) << message;
  EXPECT_NE(message.find("bytes"), std::string::npos) << message;
  EXPECT_EQ(read_file(folder / "a"), "old");
  EXPECT_EQ(count_entries(folder.path()), 1);
}

TEST(ReadFile, ReadsUpToItsLimit) {
  const TemporaryFolder folder;
  write_file_atomically(folder / "a", "12345");
  EXPECT_EQ(read_file(folder / "a", 5), "12345");
  EXPECT_THROW(read_file(folder / "a", 4), Error);
  EXPECT_THROW(read_file("/dev/zero", 1000), Error);
  EXPECT_THROW(read_file(folder.path()), Error);
  EXPECT_THROW(read_file(folder / "missing"), Error);
  EXPECT_FALSE(read_file("/proc/self/status").empty());  // announces 0 bytes
}

TEST(AtomicFolder, AppearsOnlyWithCommit) {
  const TemporaryFolder folder;
  {
    const AtomicFolder dropped(folder / "run");
    write_file_atomically(dropped.working_path() / "x", "1");
    EXPECT_FALSE(fs::exists(folder / "run"));
  }
  EXPECT_EQ(count_entries(folder.path()), 0);
  AtomicFolder kept(folder / "run/");
  fs::create_directories(kept.working_path() / "deep/er");
  write_file_atomically(kept.working_path() / "deep/er/x", "2");
  fs::create_symlink("deep/er/x", kept.working_path() / "link");
  kept.commit();
  EXPECT_EQ(read_file(folder / "run/deep/er/x"), "2");
  EXPECT_EQ(count_entries(folder.path()), 1);
}

TEST(AtomicFolder, ReplacesAnOlderFolder) {
  for (const bool try_exchange : {true, false}) {
    const TemporaryFolder folder;
    for (const char* name : {"run", "new"}) {
      fs::create_directory(folder / name);
      write_file_atomically(folder / name / name, name);
    }
    replace_folder(folder / "new", folder / "run", try_exchange);
    EXPECT_EQ(read_file(folder / "run/new"), "new");
    EXPECT_FALSE(fs::exists(folder / "run/run"));
    EXPECT_EQ(count_entries(folder.path()), 1);
  }
}

TEST(RemovePartialFiles, RemovesTheDeadAndKeepsTheLiving) {
  const TemporaryFolder folder;
  write_file_atomically(folder / "a.partial-123", "dead");
  fs::create_directory(folder / "b.partial-1");
  write_file_atomically(folder / "b.partial-1/x", "dead");
  write_file_atomically(folder / "notes.partial-copy", "not ours");
  write_file_atomically(folder / ".partial-1", "not ours");
  AtomicFile living_file(folder / "c");
  const AtomicFolder living_folder(folder / "d");
  EXPECT_EQ(remove_partial_files(folder.path()), 2);
  EXPECT_EQ(count_entries(folder.path()), 4);
  living_file.write("whole");
  living_file.commit();
  EXPECT_EQ(read_file(folder / "c"), "whole");
  EXPECT_EQ(remove_partial_files(folder / "missing"), 0);
}

TEST(RemovePartialFiles, RemovesLinksWithoutTouchingWhatTheyPointAt) {
  const TemporaryFolder folder;
  write_file_atomically(folder / "step-1", "kept");
  fs::create_symlink("step-1", folder / "latest.partial-7");
  fs::create_symlink("nowhere", folder / "best.partial-7");
  EXPECT_EQ(remove_partial_files(folder.path()), 2);
  EXPECT_EQ(count_entries(folder.path()), 1);
  EXPECT_EQ(read_file(folder / "step-1"), "kept");
}

TEST(RemovePartialFiles, PutsBackAFolderMovedAside) {
  const TemporaryFolder folder;
  fs::create_directory(folder / "run.previous-5");
  write_file_atomically(folder / "run.previous-5/x", "kept");
  EXPECT_EQ(remove_partial_files(folder.path()), 1);
  EXPECT_EQ(read_file(folder / "run/x"), "kept");
  fs::create_directory(folder / "run.previous-6");
  EXPECT_EQ(remove_partial_files(folder.path()), 1);
  EXPECT_EQ(count_entries(folder.path()), 1);
}

// A process killed at any moment leaves one of the two versions whole.
TEST(AtomicFolder, SurvivesAKilledWriter) {
  const TemporaryFolder folder;
  const auto write_version = [&](const std::string& text) {
    AtomicFolder run(folder / "run");
    for (const char* name : {"x", "y"}) write_file_atomically(run.working_path() / name, text);
    run.commit();
  };
  write_version("0");
  for (int attempt = 0; attempt < 15; ++attempt) {
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      for (int version = 1;; ++version) {
        write_version(std::to_string(version));
        if (version == 1 && write(ends[1], "1", 1) != 1) _exit(1);
      }
    }
    char first_version_written = 0;
    ASSERT_EQ(read(ends[0], &first_version_written, 1), 1);
    close(ends[0]);
    close(ends[1]);
    usleep(static_cast<useconds_t>(700 * attempt));
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    ASSERT_EQ(read_file(folder / "run/x"), read_file(folder / "run/y"));
    remove_partial_files(folder.path());
    ASSERT_EQ(count_entries(folder.path()), 1);
  }
  EXPECT_NE(read_file(folder / "run/x"), "0");
}

TEST(FreeDiskBytes, LooksAtTheNearestExistingParent) {
  const TemporaryFolder folder;
  EXPECT_GT(free_disk_bytes(folder / "not/yet/there"), 0u);
  EXPECT_GT(free_disk_bytes("relative/not/there"), 0u);
}

}  // namespace
}  // namespace owlet
