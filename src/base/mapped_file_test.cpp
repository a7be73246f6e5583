#include "base/mapped_file.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "base/atomic_file.hpp"
#include "base/error.hpp"
#include "base/temporary_folder.hpp"

namespace owlet {
namespace {

std::string text_of(const MappedFile& file) {
  return std::string(reinterpret_cast<const char*>(file.bytes().data()), file.size());
}

TEST(MappedFile, ShowsTheFilesBytes) {
  const TemporaryFolder folder;
  write_file_atomically(folder / "a", "hello");
  const MappedFile file(folder / "a", MappedFile::Access::random);
  EXPECT_EQ(text_of(file), "hello");
  EXPECT_EQ(file.path(), folder / "a");
}

TEST(MappedFile, EmptyFileIsAnEmptySpan) {
  const TemporaryFolder folder;
  write_file_atomically(folder / "a", "");
  const MappedFile file(folder / "a");
  EXPECT_TRUE(file.bytes().empty());
  file.release_pages(0, 10);
}

TEST(MappedFile, MovesTheMapping) {
  const TemporaryFolder folder;
  write_file_atomically(folder / "a", "one");
  write_file_atomically(folder / "b", "two");
  MappedFile first(folder / "a");
  MappedFile moved(std::move(first));
  EXPECT_EQ(text_of(moved), "one");
  moved = MappedFile(folder / "b");
  EXPECT_EQ(text_of(moved), "two");
}

TEST(MappedFile, ReleasedPagesAreReadAgain) {
  const TemporaryFolder folder;
  const std::string text(100000, 'x');
  write_file_atomically(folder / "a", text);
  const MappedFile file(folder / "a");
  EXPECT_EQ(text_of(file), text);
  file.release_pages(5000, 20000);
  file.release_pages(99999, ~size_t{0});
  file.release_pages(200000, 1);
  EXPECT_EQ(text_of(file), text);
}

TEST(MappedFile, NamesWhatCannotBeMapped) {
  const TemporaryFolder folder;
  try {
    MappedFile(folder / "missing");
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::not_found);
    EXPECT_NE(std::string(error.what()).find("missing"), std::string::npos);
  }
  EXPECT_THROW(MappedFile{folder.path()}, Error);
  EXPECT_THROW(MappedFile{"/dev/zero"}, Error);
}

}  // namespace
}  // namespace owlet
