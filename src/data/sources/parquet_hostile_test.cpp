// Parquet files whose numbers lie: refused with file, column and row group, in little memory.
#include <gtest/gtest.h>
#include <snappy.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>

#include "base/temporary_folder.hpp"
#include "data/sources/parquet_records.hpp"
#include "data/sources/parquet_text.hpp"
#include "tests/support/parquet_bytes.hpp"
#include "tests/support/parquet_golden.hpp"

namespace owlet {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kHuge = int64_t{1} << 62, kLarge = 2'000'000'000;
constexpr int kSnappy = 1, kGzip = 2, kZstd = 6;

class ParquetHostileTest : public testing::Test {
 protected:
  /// All texts of a file with these bytes, joined by "|"; or "kind: message | hint".
  std::string read(const std::string& bytes, const parquet::ParquetLimits& limits = {}) {
    return read_file(write_bytes(folder_ / "file.parquet", bytes), limits);
  }
  std::string read_file(const fs::path& path, const parquet::ParquetLimits& limits = {}) {
    try {
      ParquetTextReader reader({path}, "text", false, limits);
      std::string_view text;
      std::string joined;
      while (reader.next(text)) {
        if (reader.num_rows() > 1) joined.push_back('|');
        joined.append(text);
      }
      return joined;
    } catch (const Error& error) {
      return fmt::format("{}: {} | {}", to_string(error.kind()), error.what(), error.hint());
    }
  }
  void expect_corrupt(const std::string& bytes, const std::string& part, const parquet::ParquetLimits& limits = {}) {
    const std::string message = read(bytes, limits);
    EXPECT_EQ(message.find("corrupt_file: "), 0u) << message;
    EXPECT_NE(message.find("file.parquet"), std::string::npos) << message;
    EXPECT_NE(message.find(part), std::string::npos) << message << "\nexpected: " << part;
    EXPECT_NE(message.find(parquet::kDamagedHint), std::string::npos) << message;
  }
  TemporaryFolder folder_;
};

TEST_F(ParquetHostileTest, HandmadeFileIsRead) {
  EXPECT_EQ(read(parquet_bytes(parquet_page(parquet_text("owl")))), "owl");
  const std::string two = parquet_page(parquet_text("owl") + parquet_text("night"), {.num_values = 2});
  EXPECT_EQ(read(parquet_bytes(two + parquet_page(parquet_text("")), {.num_rows = 3})), "owl|night|");
}

TEST_F(ParquetHostileTest, DictionaryIsUsed) {
  const std::string dictionary = parquet_page(parquet_text("a") + parquet_text("bc"), {.type = 2, .num_values = 2});
  const std::string indices = std::string("\x01\x06\x01\x03\x02", 5);  // 1 bit each: three ones; packed 0, 1, 0
  const std::string pages = dictionary + parquet_page(indices, {.encoding = 8, .num_values = 5});
  EXPECT_EQ(read(parquet_bytes(pages, {.num_rows = 5})), "bc|bc|bc|a|bc");
  const std::string wide = std::string("\x08\x0A\x02", 3);  // five times index 2
  expect_corrupt(parquet_bytes(dictionary + parquet_page(wide, {.encoding = 8, .num_values = 5}), {.num_rows = 5}),
                 "index 2 into a dictionary of 2 values");
  expect_corrupt(parquet_bytes(parquet_page(indices, {.encoding = 8, .num_values = 5}), {.num_rows = 5}),
                 "there is no dictionary page");
  expect_corrupt(parquet_bytes(dictionary + pages, {.num_rows = 5}), "a second dictionary page");
  const std::string short_one = parquet_page(parquet_text("a"), {.type = 2, .num_values = kLarge});
  expect_corrupt(parquet_bytes(short_one), "a dictionary of 2000000000 values, its page has 1");
  expect_corrupt(parquet_bytes(dictionary + parquet_page(std::string("\x21\x02", 2), {.encoding = 8})), "33 bits");
}

TEST_F(ParquetHostileTest, PageBeyondFourGibibytes) {
  const std::string page = parquet_page(parquet_text("far away"));
  const int64_t offset = (int64_t{5} << 30) + 3;
  const fs::path path = write_bytes(folder_ / "sparse.parquet", "PAR1");
  if (truncate(path.c_str(), offset) != 0) GTEST_SKIP() << "no sparse file of 5 GiB in the temporary folder";
  std::ofstream file(path, std::ios::binary | std::ios::app);
  file << page << parquet_footer(offset, static_cast<int64_t>(page.size()));
  file.close();
  EXPECT_EQ(read_file(path), "far away");
}

/// What the process holds in memory now.
uint64_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  uint64_t size = 0, resident = 0;
  statm >> size >> resident;
  return resident * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

TEST_F(ParquetHostileTest, MemoryStaysFlatOverALargeFile) {
  constexpr int kPages = 96, kTexts = 16;
  constexpr size_t kTextBytes = size_t{1} << 16;
  std::string texts;
  for (int i = 0; i < kTexts; ++i) texts += parquet_text(std::string(kTextBytes, static_cast<char>('a' + i)));
  const std::string page = parquet_page(texts, {.num_values = kTexts});
  const fs::path path = folder_ / "large.parquet";
  {
    std::ofstream file(path, std::ios::binary);
    file << "PAR1";
    for (int i = 0; i < kPages; ++i) file << page;
    file << parquet_footer(4, static_cast<int64_t>(page.size()) * kPages, {.num_rows = kPages * kTexts});
  }
  ParquetTextReader reader({path}, "text");
  std::string_view text;
  uint64_t bytes = 0, most = 0;
  const uint64_t before = resident_bytes();
  while (reader.next(text)) {
    bytes += static_cast<uint64_t>(std::count(text.begin(), text.end(), text.front()));
    if (reader.num_rows() % kTexts == 0) most = std::max(most, resident_bytes());
  }
  EXPECT_EQ(bytes, kPages * kTexts * kTextBytes);
  EXPECT_LE(most, before + (uint64_t{12} << 20));
}

TEST_F(ParquetHostileTest, CutFiles) {
  const std::string bytes = parquet_bytes(parquet_page(parquet_text("owl")));
  expect_corrupt("", "too few");
  expect_corrupt("PAR1PAR1", "too few");
  expect_corrupt("<html>not found</html>", "no Parquet file");
  for (size_t size = 12; size < bytes.size(); ++size) expect_corrupt(bytes.substr(0, size), "footer is missing");
  // Every cut with a new tail behind it: the footer's length then covers other bytes.
  for (size_t size = 4; size + 8 < bytes.size(); ++size) {
    const std::string tail = bytes.substr(bytes.size() - 8);
    EXPECT_EQ(read(bytes.substr(0, size) + tail).find("corrupt_file"), 0u) << size;
  }
}

TEST_F(ParquetHostileTest, FooterThatLies) {
  const std::string page = parquet_page(parquet_text("owl"));
  expect_corrupt("PAR1" + page + little_endian(0x7FFFFFFF) + "PAR1", "a footer of 2147483647 bytes");
  expect_corrupt(parquet_bytes(page, {.num_children = 2}), "its tree takes more");
  expect_corrupt(parquet_bytes(page, {.num_children = 0}), "its tree takes 1");
  expect_corrupt(parquet_bytes(page, {.num_children = -1}), "negative number of children");
  expect_corrupt(parquet_bytes(page, {.repetition = 3}), "repetition 3");
  expect_corrupt(parquet_bytes(page, {.group_rows = 2}), "row groups 0 to 0 have 2 rows, the file 1");
  expect_corrupt(parquet_bytes(page, {.num_rows = 2, .group_rows = 1}), "the row groups have 1 rows, the file 2");
  expect_corrupt(parquet_bytes(page, {.num_rows = kHuge}), "the pages have 1 values");
  expect_corrupt(parquet_bytes(page, {.num_rows = 2, .num_values = 1}), "1 values in 2 rows");
  expect_corrupt(parquet_bytes(page, {.column_type = 1}), "values of type int32, the schema says byte_array");
  expect_corrupt(parquet_bytes(page, {.column_type = 8}), "physical type 8");
  expect_corrupt(parquet_bytes(page, {.offset = 100000}), "those of the file take 4 to");
  expect_corrupt(parquet_bytes(page, {.offset = 0}), "its pages take bytes 0");
  expect_corrupt(parquet_bytes(page, {.offset = -1}), "negative offset");
  expect_corrupt(parquet_bytes(page, {.size = kHuge}), "its pages take bytes 4");
  expect_corrupt(parquet_bytes(page, {.size = 3}), "the metadata ends after 3 bytes");
}

TEST_F(ParquetHostileTest, RowsBeyondTheRowGroupAreFound) {
  const std::string two = parquet_page(parquet_text("owl") + parquet_text("night"), {.num_values = 2});
  expect_corrupt(parquet_bytes(two, {.num_values = 2}), "2 values in 1 rows");
}

TEST_F(ParquetHostileTest, PageThatLies) {
  const std::string data = parquet_text("owl");
  expect_corrupt(parquet_bytes(parquet_page(data, {.compressed_bytes = kLarge})), "a page of 2000000000 bytes where 7");
  expect_corrupt(parquet_bytes(parquet_page(data, {.uncompressed_bytes = -5})), "negative size of a page: -5");
  expect_corrupt(parquet_bytes(parquet_page(data, {.uncompressed_bytes = 8})), "its header says 8");
  expect_corrupt(parquet_bytes(parquet_page(data, {.uncompressed_bytes = kHuge})), "the number 4611686018427387904");
  expect_corrupt(parquet_bytes(parquet_page(data, {.type = 9})), "page type 9");
  expect_corrupt(parquet_bytes(parquet_page(data, {.num_values = kLarge}), {.num_rows = kLarge}),
                 "end before its last value");
  expect_corrupt(parquet_bytes(parquet_page(little_endian(9) + "owl")), "a value of 9 bytes where 3 are left");
  expect_corrupt(parquet_bytes(parquet_page(little_endian(0xFFFFFFFF) + "owl")), "a value of 4294967295 bytes");
  expect_corrupt(parquet_bytes(parquet_page("owl")), "end before its last value");
  EXPECT_NE(read(parquet_bytes(parquet_page(data, {.encoding = 1}))).find("unknown (1)"), std::string::npos);
  expect_corrupt(parquet_bytes(parquet_page(data, {.encoding = 77})), "encoding 77");
}

TEST_F(ParquetHostileTest, PackedPageThatLies) {
  const std::string data = parquet_text(std::string(1000, 'o'));
  const auto size = static_cast<int64_t>(data.size());
  std::string packed[3];
  snappy::Compress(data.data(), data.size(), &packed[0]);
  packed[1].resize(ZSTD_compressBound(data.size()));
  packed[1].resize(ZSTD_compress(packed[1].data(), packed[1].size(), data.data(), data.size(), 3));
  uLongf zlib_size = compressBound(data.size());
  packed[2].resize(zlib_size);
  compress(reinterpret_cast<Bytef*>(packed[2].data()), &zlib_size, reinterpret_cast<const Bytef*>(data.data()), size);
  packed[2].resize(zlib_size);
  const int codecs[3] = {kSnappy, kZstd, kGzip};
  for (int i = 0; i < 3; ++i) {
    const FileNumbers file{.codec = codecs[i]};
    const std::string& bytes = packed[i];
    EXPECT_EQ(read(parquet_bytes(parquet_page(bytes, {.uncompressed_bytes = size}), file)), std::string(1000, 'o'));
    expect_corrupt(parquet_bytes(parquet_page(bytes, {.uncompressed_bytes = size + 1}), file),
                   "do not unpack to the 1005");
    expect_corrupt(parquet_bytes(parquet_page(bytes, {.uncompressed_bytes = size - 1}), file),
                   "do not unpack to the 1003");
    expect_corrupt(parquet_bytes(parquet_page(bytes, {.uncompressed_bytes = 1'000'000'000}), file), "do not unpack to");
    expect_corrupt(parquet_bytes(parquet_page(bytes.substr(0, bytes.size() - 2), {.uncompressed_bytes = size}), file),
                   "do not unpack to");
    expect_corrupt(parquet_bytes(parquet_page(bytes, {.uncompressed_bytes = size}), file),
                   "more than 1003 are not read", {.max_page_bytes = 1003});
  }
}

TEST_F(ParquetHostileTest, OtherCodecsAndEncryptionAreUnsupported) {
  const std::string page = parquet_page(parquet_text("owl"));
  const std::pair<int, std::string> codecs[] = {
      {3, "lzo"}, {4, "brotli"}, {5, "lz4"}, {7, "lz4_raw"}, {99, "codec 99"}};
  for (const auto& [codec, name] : codecs) {
    const std::string message = read(parquet_bytes(page, {.codec = codec}));
    EXPECT_EQ(message.find("unsupported: "), 0u) << message;
    EXPECT_NE(message.find("packed with " + name), std::string::npos) << message;
  }
  std::string message = read(parquet_bytes(page, {.is_encrypted = true}));
  EXPECT_EQ(message.find("unsupported: "), 0u) << message;
  EXPECT_NE(message.find("the column is encrypted"), std::string::npos) << message;
  std::string bytes = parquet_bytes(page);
  message = read(bytes.replace(bytes.size() - 1, 1, "E"));
  EXPECT_EQ(message.find("unsupported: "), 0u) << message;
  EXPECT_NE(message.find("file is encrypted"), std::string::npos) << message;
}

TEST_F(ParquetHostileTest, NestedMetadataEndsEarly) {
  std::string lists(100000, '\x19');  // lists of one list of one list…
  expect_corrupt("PAR1" + lists + little_endian(100000) + "PAR1", "nested deeper");
  std::string structs(100000, '\x1C');
  expect_corrupt("PAR1" + structs + little_endian(100000) + "PAR1", "nested deeper");
}

TEST_F(ParquetHostileTest, AnyFlippedByteIsReadOrRefused) {
  for (const std::string name : {"nested_zstd", "delta", "duckdb_v1", "split"}) {
    const std::string bytes = parquet_golden_bytes(name);
    for (size_t i = 0; i < bytes.size(); i += 37) {
      std::string damaged = bytes;
      damaged[i] = static_cast<char>(damaged[i] ^ (1 << (i % 8)));
      ParquetRecords records({write_bytes(folder_ / "flipped.parquet", damaged)}, {}, {1 << 24, 1 << 24});
      Json row;
      try {
        for (int n = 0; n < 1000 && records.next(row); ++n) {
        }
      } catch (const Error& error) {
        EXPECT_NE(std::string(error.what()).find("flipped.parquet"), std::string::npos) << error.what();
      }
    }
  }
}

}  // namespace
}  // namespace owlet
