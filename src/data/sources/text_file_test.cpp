#include "data/sources/text_file.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "base/error.hpp"

namespace owlet {
namespace {

namespace fs = std::filesystem;
using Documents = std::vector<std::string>;

class TextFileTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / fmt::format("owlet-text-file-{}", getpid());
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  fs::path write(const std::string& text, const std::string& name = "a.txt") {
    std::ofstream(folder_ / name, std::ios::binary) << text;
    return folder_ / name;
  }

  static Documents all(TextFileSource& source) {
    Documents documents;
    for (std::string document; source.next(document);) documents.push_back(document);
    return documents;
  }

  Documents documents_of(const std::string& text, const std::string& separator = std::string(kDefaultSeparator)) {
    TextFileSource source({write(text)}, separator);
    Documents documents = all(source);
    EXPECT_EQ(source.num_documents(), documents.size());
    num_empty_ = source.num_empty();
    return documents;
  }

  fs::path folder_;
  uint64_t num_empty_ = 0;
};

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

TEST_F(TextFileTest, PartsAtTheSeparatorAndKeepsACutEnd) {
  EXPECT_EQ(documents_of("One.\n<|endoftext|>\nTwo,\n\nstill two.\n<|endoftext|>\nThree is cu"),
            (Documents{"One.", "Two,\n\nstill two.", "Three is cu"}));
  EXPECT_EQ(num_empty_, 0u);
  EXPECT_EQ(documents_of("  One <|endoftext|>Two<|endoftext|>"), (Documents{"  One ", "Two"}));
  EXPECT_EQ(documents_of("a--b--c", "--"), (Documents{"a", "b", "c"}));
}

TEST_F(TextFileTest, FileWithoutTheSeparatorIsOneUntouchedDocument) {
  EXPECT_EQ(documents_of("\nFirst\n\nSecond\n"), (Documents{"\nFirst\n\nSecond\n"}));
  EXPECT_EQ(documents_of("a<|endoftext|>b\n", "none"), (Documents{"a<|endoftext|>b\n"}));
}

TEST_F(TextFileTest, BlankLinesPartParagraphs) {
  EXPECT_EQ(documents_of("\n\nOne\nline two\n \t\n\n\nTwo\n\nThree", "blank-lines"),
            (Documents{"One\nline two", "Two", "Three"}));
  EXPECT_EQ(num_empty_, 0u);
}

TEST_F(TextFileTest, EmptyDocumentsAreCountedAndAddNothing) {
  EXPECT_EQ(documents_of("<|endoftext|>a<|endoftext|>\n<|endoftext|> \n\t<|endoftext|>b<|endoftext|>\n"),
            (Documents{"a", "b"}));
  EXPECT_EQ(num_empty_, 3u);
  EXPECT_TRUE(documents_of("").empty());
  EXPECT_EQ(num_empty_, 1u);
}

TEST_F(TextFileTest, LineEndsAndByteOrderMarkMakeNoDifference) {
  const std::string text = "One\nmore\n<|endoftext|>\nTwo\n\nThree\n<|endoftext|>\n";
  for (const std::string separator : {"<|endoftext|>", "blank-lines", "none"}) {
    const Documents expected = documents_of(text, separator);
    EXPECT_EQ(documents_of(replaced(text, "\n", "\r\n"), separator), expected);
    EXPECT_EQ(documents_of(replaced(text, "\n", "\r"), separator), expected);
    EXPECT_EQ(documents_of("\xEF\xBB\xBF" + text, separator), expected);
    EXPECT_EQ(documents_of("\xEF\xBB\xBF" + replaced(text, "\n", "\r\n"), separator), expected);
  }
  // Anywhere else the mark is text.
  EXPECT_EQ(documents_of("a\xEF\xBB\xBF"), (Documents{"a\xEF\xBB\xBF"}));
  EXPECT_EQ(documents_of("a<|endoftext|>\xEF\xBB\xBF"), (Documents{"a", "\xEF\xBB\xBF"}));
}

TEST_F(TextFileTest, SeparatorsAndLineEndsAcrossBlockBorders) {
  constexpr size_t kBlock = size_t{1} << 20;
  for (size_t shift = 0; shift <= 14; ++shift) {
    const std::string first(kBlock - shift, 'x');
    EXPECT_EQ(documents_of(first + "<|endoftext|>y"), (Documents{first, "y"})) << shift;
  }
  const std::string first(kBlock - 1, 'x');
  EXPECT_EQ(documents_of(first + "\r\ny", "none"), (Documents{first + "\ny"}));
  EXPECT_EQ(documents_of(first + "\r\n\r\ny", "blank-lines"), (Documents{first, "y"}));
  EXPECT_EQ(documents_of(first + "\r", "none"), (Documents{first + "\n"}));
}

TEST_F(TextFileTest, SeveralFilesAndRewind) {
  TextFileSource source({write("a<|endoftext|>b", "1.txt"), write("", "2.txt"),
                         write("\xEF\xBB\xBF"
                               "c",
                               "3.txt")});
  EXPECT_EQ(all(source), (Documents{"a", "b", "c"}));
  EXPECT_EQ(source.num_empty(), 1u);
  EXPECT_EQ(source.files()[0].bytes, 15u);
  std::string document;
  EXPECT_FALSE(source.next(document));
  source.rewind();
  EXPECT_TRUE(source.next(document));
  source.rewind();
  EXPECT_EQ(all(source), (Documents{"a", "b", "c"}));
  EXPECT_EQ(source.num_documents(), 3u);
}

TEST_F(TextFileTest, RefusesWhatItCanNotRead) {
  const fs::path file = write("x");
  EXPECT_THROW(TextFileSource({}), Error);
  EXPECT_THROW(TextFileSource({folder_ / "none"}), Error);
  EXPECT_THROW(TextFileSource({folder_}), Error);
  EXPECT_THROW(TextFileSource({file}, ""), Error);
}

TEST_F(TextFileTest, DocumentOverTheLimitIsRefusedWithItsFile) {
  TextFileSource source({write(std::string(size_t{3} << 20, 'x'))}, "<|endoftext|>", size_t{2} << 20);
  std::string document;
  try {
    source.next(document);
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("a.txt"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("2097152"), std::string::npos) << error.what();
  }
}

TEST_F(TextFileTest, TinyStoriesSample) {
  const fs::path path = fs::path(OWLET_SOURCE_DIR) / "../shared/data/tinystories_sample.txt";
  if (!fs::exists(path)) GTEST_SKIP() << path << " is not there";
  TextFileSource source({path});
  const Documents documents = all(source);
  EXPECT_EQ(documents.size() + source.num_empty(), 2317u);  // 2,316 separators, the last story cut
  for (const std::string& document : documents) {
    EXPECT_NE(document.front(), '\n');
    EXPECT_EQ(document.find("<|endoftext|>"), std::string::npos);
  }
}

}  // namespace
}  // namespace owlet
