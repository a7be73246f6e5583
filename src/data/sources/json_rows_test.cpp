#include "data/sources/json_rows.hpp"

#include <gtest/gtest.h>
#include <zlib.h>
#include <zstd.h>

#include <fstream>

#include "base/error.hpp"
#include "base/temporary_folder.hpp"
#include "data/sources/open_records.hpp"

namespace owlet {
namespace {

namespace fs = std::filesystem;
using Texts = std::vector<std::string>;

std::string gzip(const std::string& text) {
  z_stream stream = {};
  EXPECT_EQ(deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string packed(deflateBound(&stream, text.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

std::string zstd(const std::string& text) {
  std::string packed(ZSTD_compressBound(text.size()), '\0');
  packed.resize(ZSTD_compress(packed.data(), packed.size(), text.data(), text.size(), 3));
  return packed;
}

class JsonRowsTest : public testing::Test {
 protected:
  fs::path write(const std::string& name, const std::string& text) {
    std::ofstream(folder_ / name, std::ios::binary) << text;
    return folder_ / name;
  }

  /// The member "text" of each row.
  Texts texts(const std::vector<fs::path>& files, bool skips = false) {
    const auto source = open_records(files, {.columns = {}, .skips_bad_records = skips});
    Texts texts;
    for (Json record; source->next(record);) texts.push_back(record.value("text", "(no text)"));
    EXPECT_EQ(source->num_records(), texts.size());
    skipped_ = source->skipped();
    num_skipped_ = source->num_skipped();
    return texts;
  }

  std::string error_of(const fs::path& file) {
    try {
      texts({file});
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::corrupt_file);
      return error.what();
    }
    return "no error";
  }

  TemporaryFolder folder_;
  std::vector<SkippedRecord> skipped_;
  uint64_t num_skipped_ = 0;
};

const std::string kThree = "{\"text\": \"one\"}\n{\"text\": \"two\"}\n\n{\"text\": \"three\"}\n";

std::string with_line_ends(std::string text, const std::string& end) {
  for (size_t at = 0; (at = text.find('\n', at)) != std::string::npos; at += end.size()) text.replace(at, 1, end);
  return text;
}

TEST_F(JsonRowsTest, LinesHoweverTheyEndAndWithAByteOrderMark) {
  const Texts three = {"one", "two", "three"};
  for (const std::string mark : {"", "\xEF\xBB\xBF"}) {
    for (const std::string end : {"\n", "\r\n", "\r"}) {
      EXPECT_EQ(texts({write("a.jsonl", mark + with_line_ends(kThree, end))}), three);
    }
  }
  EXPECT_EQ(texts({write("a.jsonl", kThree + "{\"text\": \"no end\"}")}).back(), "no end");
  // Only the first bytes of a file are a mark: elsewhere they are no JSON.
  EXPECT_NE(error_of(write("a.jsonl", "{\"text\": \"one\"}\n\xEF\xBB\xBF{\"text\": \"two\"}\n")).find("line 2"),
            std::string::npos);
}

TEST_F(JsonRowsTest, PackedFiles) {
  const Texts three = {"one", "two", "three"};
  EXPECT_EQ(texts({write("a.jsonl.gz", gzip(kThree))}), three);
  EXPECT_EQ(texts({write("a.JSONL.ZST", zstd(kThree))}), three);
  // Members and frames one after the other, as `cat` makes them.
  EXPECT_EQ(texts({write("b.jsonl.gz", gzip(kThree) + gzip(kThree))}).size(), 6u);
  EXPECT_EQ(texts({write("b.jsonl.zst", zstd(kThree) + zstd(kThree))}).size(), 6u);
  EXPECT_TRUE(texts({write("c.jsonl.gz", gzip(""))}).empty());
  EXPECT_EQ(texts({write("d.json.gz", gzip("[{\"text\": \"one\"}]"))}), Texts{"one"});
}

TEST_F(JsonRowsTest, DamagedPackedFilesAreNamed) {
  std::string big;
  for (int i = 0; i < 20000; ++i) big += fmt::format("{{\"text\": \"row {}\"}}\n", i * 7919 % 10007);
  for (const auto& [name, packed] : {std::pair{"cut.jsonl.gz", gzip(big)}, std::pair{"cut.jsonl.zst", zstd(big)}}) {
    for (const size_t kept : {packed.size() - 1, packed.size() - 7, packed.size() / 2, size_t{12}, size_t{0}}) {
      const fs::path file = write(name, packed.substr(0, kept));
      EXPECT_NE(error_of(file).find(file.string()), std::string::npos) << kept;
      EXPECT_NE(error_of(file).find("cut off"), std::string::npos) << kept;
    }
    std::string damaged = packed;
    for (size_t i = damaged.size() / 2; i < damaged.size() / 2 + 40; ++i) damaged[i] = static_cast<char>(~damaged[i]);
    const fs::path file = write(name, damaged);
    EXPECT_NE(error_of(file).find(name), std::string::npos);
    // What comes before the damage, and the files behind it, are kept.
    const Texts kept = texts({file, write("good.jsonl", kThree)}, true);
    EXPECT_EQ(kept.back(), "three");
    EXPECT_GE(num_skipped_, 1u);  // damaged bytes may unpack to damaged rows before it shows
  }
  EXPECT_NE(error_of(write("none.jsonl.gz", kThree)).find("none.jsonl.gz"), std::string::npos);
  EXPECT_NE(error_of(write("none.jsonl.zst", kThree)).find("none.jsonl.zst"), std::string::npos);
}

TEST_F(JsonRowsTest, BadRowsAreNamedOrSkippedAndCounted) {
  const std::string good = "{\"text\": \"good\"}\n";
  const fs::path file = write("a.jsonl", good + good + "{\"text\": \"bro\n" + "[1]\n" + good + "\"text\"\n7\n" +
                                             "{\"text\": \"\xC3\"}\n" + good + "{\"text\": \"cut");
  EXPECT_NE(error_of(file).find("a.jsonl, line 3: invalid JSON at byte"), std::string::npos) << error_of(file);
  EXPECT_EQ(texts({file}, true).size(), 4u);
  ASSERT_EQ(num_skipped_, 6u);
  const std::vector<int> lines = {3, 4, 6, 7, 8, 10};
  for (size_t i = 0; i < lines.size(); ++i) {
    EXPECT_EQ(skipped_[i].place, fmt::format("{}, line {}", file.string(), lines[i]));
  }
  EXPECT_NE(skipped_[1].reason.find("array"), std::string::npos);
  EXPECT_NE(error_of(write("deep.jsonl", std::string(100000, '['))).find("nested"), std::string::npos);
}

TEST_F(JsonRowsTest, OnlyTheFirstTwentyPlacesAreKept) {
  std::string text;
  for (int i = 0; i < 50; ++i) text += "{\n";
  EXPECT_TRUE(texts({write("a.jsonl", text), write("b.jsonl", text)}, true).empty());
  EXPECT_EQ(num_skipped_, 100u);
  EXPECT_EQ(skipped_.size(), 20u);
  EXPECT_NE(skipped_[19].place.find("a.jsonl, line 20"), std::string::npos);
}

TEST_F(JsonRowsTest, RowOf60MegabytesBesideSmallOnes) {
  const std::string big(size_t{60} << 20, 'x');
  const Texts rows = texts({write("a.jsonl", "{\"text\": \"a\"}\r\n{\"text\": \"" + big + "\"}\r\n{\"text\": \"b\"}")});
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[1].size(), big.size());
  EXPECT_EQ(rows[2], "b");
}

TEST_F(JsonRowsTest, LineOverTheLimitIsNamedAndReadOver) {
  // A small packed file that unpacks to one line of 300 MB.
  std::string packed = gzip("{\"text\": \"");
  const std::string block = gzip(std::string(size_t{10} << 20, 'x'));
  for (int i = 0; i < 30; ++i) packed += block;
  packed += gzip("\"}\r\n" + kThree);
  const fs::path file = write("bomb.jsonl.gz", packed);
  EXPECT_LT(fs::file_size(file), uint64_t{1} << 20);
  EXPECT_EQ(texts({file}, true), (Texts{"one", "two", "three"}));
  ASSERT_EQ(num_skipped_, 1u);
  EXPECT_NE(skipped_[0].place.find("line 1"), std::string::npos);
  EXPECT_EQ(skipped_[0].reason, "longer than 268435456 bytes");
}

TEST_F(JsonRowsTest, Arrays) {
  const std::string two = " [ {\"text\": \"a, ] \\\" }\"} ,\n{\"text\": \"b\", \"n\": [1, {\"m\": []}]}\n ]\n";
  EXPECT_EQ(texts({write("a.json", two)}), (Texts{"a, ] \" }", "b"}));
  EXPECT_EQ(texts({write("a.json", "\xEF\xBB\xBF" + two)}), (Texts{"a, ] \" }", "b"}));
  EXPECT_TRUE(texts({write("a.json", "[]")}).empty());
  EXPECT_EQ(texts({write("a.json", kThree)}), (Texts{"one", "two", "three"}));
  EXPECT_EQ(texts({write("a.json", "[{\"text\": \"a\"}, 3, {\"text\" \"b\"}, {\"text\": \"c\"}]")}, true),
            (Texts{"a", "c"}));
  EXPECT_EQ(num_skipped_, 2u);
  EXPECT_NE(skipped_[1].place.find("row 3"), std::string::npos);
  for (const std::string broken : {"[{\"text\": \"a\"}", "[{\"text\": \"a\"},", "[", "[{\"text\": \"a\"}] x",
                                   "[{\"text\": \"a\"} {\"text\": \"b\"}]", "[{\"text\": \"a"}) {
    EXPECT_NE(error_of(write("a.json", broken)).find("a.json"), std::string::npos) << broken;
  }
}

TEST_F(JsonRowsTest, ColumnsAndRewind) {
  const auto source = open_records({write("a.jsonl", "{\"text\": \"a\", \"id\": 1}\n{\"id\": 2}\n")},
                                   {.columns = {"text"}, .skips_bad_records = false});
  for (int pass = 0; pass < 2; ++pass) {
    Json record;
    ASSERT_TRUE(source->next(record));
    EXPECT_EQ(record, (Json{{"text", "a"}}));
    ASSERT_TRUE(source->next(record));
    EXPECT_EQ(record, Json::object());
    EXPECT_NE(source->place().find("line 2"), std::string::npos);
    EXPECT_FALSE(source->next(record));
    source->rewind();
    EXPECT_EQ(source->num_records(), 0u);
  }
}

TEST_F(JsonRowsTest, FilesThatCanNotBeRead) {
  EXPECT_THROW(open_records({}), Error);
  EXPECT_THROW(open_records({folder_ / "none.jsonl"}), Error);
  EXPECT_THROW(open_records({write("a.doc", "x")}), Error);
  EXPECT_THROW(open_records({folder_.path()}), Error);
}

TEST_F(JsonRowsTest, LineEndsAcrossBlockBorders) {
  constexpr size_t kBlock = size_t{1} << 18;
  for (size_t shift = 0; shift < 6; ++shift) {
    const std::string first = "{\"text\": \"" + std::string(kBlock - 12 - shift, 'x') + "\"}";
    for (const std::string end : {"\n", "\r\n", "\r"}) {
      const Texts rows = texts({write("a.jsonl", first + end + "{\"text\": \"b\"}" + end)});
      ASSERT_EQ(rows.size(), 2u) << shift;
      EXPECT_EQ(rows[0].size(), kBlock - 12 - shift);
    }
  }
}

}  // namespace
}  // namespace owlet
