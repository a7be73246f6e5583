// Lists in the layouts of older writers, and levels that do not fit together, in files made by hand.
#include <gtest/gtest.h>

#include "base/temporary_folder.hpp"
#include "data/sources/parquet_records.hpp"
#include "tests/support/parquet_bytes.hpp"
#include "tests/support/parquet_golden.hpp"

namespace owlet {
namespace {

constexpr int kByteArray = 6, kUtf8 = 0, kList = 3, kOptional = 1, kRepeated = 2, kBitPacked = 4;

const std::string kRoot = ThriftWriter().text(4, "root").number(5, 1).finish();

std::string text_element(const std::string& name, int repetition) {
  return ThriftWriter().number(1, kByteArray).number(3, repetition).text(4, name).number(6, kUtf8).finish();
}

std::string levels(const std::string& runs) { return little_endian(static_cast<uint32_t>(runs.size())) + runs; }

class ParquetNestedTest : public testing::Test {
 protected:
  /// The rows as one JSON array, or "kind: message".
  std::string read(const std::string& bytes) {
    try {
      ParquetRecords records({write_bytes(folder_ / "file.parquet", bytes)});
      Json rows = Json::array(), row;
      while (records.next(row)) rows.push_back(row);
      return dump_json(rows);
    } catch (const Error& error) {
      return fmt::format("{}: {}", to_string(error.kind()), error.what());
    }
  }
  TemporaryFolder folder_;
};

TEST_F(ParquetNestedTest, RepeatedColumnWithoutAListAroundIt) {
  // Entries: "a", "b" | empty | "c". Repetition 0 1 0 0, definition 1 1 0 1, eight packed bits each.
  const std::string data =
      levels("\x03\x02") + levels("\x03\x0B") + parquet_text("a") + parquet_text("b") + parquet_text("c");
  const FileNumbers file{.num_rows = 3, .repetition = kRepeated, .num_values = 4};
  EXPECT_EQ(read(parquet_bytes(parquet_page(data, {.num_values = 4}), file)),
            R"([{"text":["a","b"]},{"text":[]},{"text":["c"]}])");
}

TEST_F(ParquetNestedTest, ListOfTwoLevels) {
  // An optional list of texts that are never null: null | empty | "a", "b". Repetition 0 0 0 1, definition 0 1 2 2.
  const std::string list = ThriftWriter().number(3, kOptional).text(4, "names").number(5, 1).number(6, kList).finish();
  const std::string data =
      levels("\x03\x08") + levels(std::string("\x03\xA4\x00", 3)) + parquet_text("a") + parquet_text("b");
  const FileNumbers file{.num_rows = 3, .num_values = 4, .schema = {kRoot, list, text_element("array", kRepeated)}};
  EXPECT_EQ(read(parquet_bytes(parquet_page(data, {.num_values = 4}), file)),
            R"([{"names":null},{"names":[]},{"names":["a","b"]}])");
}

TEST_F(ParquetNestedTest, RowAcrossPages) {
  const std::string first = levels(std::string("\x02\x00", 2)) + levels(std::string("\x02\x01", 2)) + parquet_text("a");
  const std::string second = levels("\x02\x01") + levels("\x02\x01") + parquet_text("b");
  const FileNumbers file{.num_rows = 1, .repetition = kRepeated, .num_values = 2};
  EXPECT_EQ(read(parquet_bytes(parquet_page(first) + parquet_page(second), file)), R"([{"text":["a","b"]}])");
  // A row group cannot begin in the middle of a row.
  EXPECT_EQ(read(parquet_bytes(parquet_page(second) + parquet_page(second), file)).find("corrupt_file"), 0u);
}

TEST_F(ParquetNestedTest, MoreRowsThanTheRowGroupSays) {
  const std::string page = levels(std::string("\x02\x00", 2)) + levels("\x02\x01") + parquet_text("a");
  const FileNumbers file{.num_rows = 1, .repetition = kRepeated, .num_values = 2};
  EXPECT_NE(read(parquet_bytes(parquet_page(page) + parquet_page(page), file)).find("more values than the row group"),
            std::string::npos);
  const FileNumbers more{.num_rows = 3, .repetition = kRepeated, .num_values = 2};
  EXPECT_NE(read(parquet_bytes(parquet_page(page) + parquet_page(page), more)).find("fewer values than the row group"),
            std::string::npos);
}

TEST_F(ParquetNestedTest, OldestLevels) {
  // Definition 1 0 1 1, highest bit first, without a length: 0xB0.
  const std::string data = "\xB0" + parquet_text("a") + parquet_text("b") + parquet_text("c");
  const FileNumbers file{.num_rows = 4, .repetition = kOptional};
  EXPECT_EQ(read(parquet_bytes(parquet_page(data, {.num_values = 4, .level_encoding = kBitPacked}), file)),
            R"([{"text":"a"},{"text":null},{"text":"b"},{"text":"c"}])");
}

TEST_F(ParquetNestedTest, OneRowOfManyNullsIsBounded) {
  // A run of 2^28 elements in one row, in a few bytes.
  const std::string run("\x80\x80\x80\x80\x02", 5);
  const std::string data =
      levels(std::string("\x02\x00", 2) + run + "\x01") + levels("\x02\x01" + run + std::string(1, '\0'));
  const FileNumbers file{.num_rows = 1, .repetition = kRepeated, .num_values = (1 << 28) + 1};
  ParquetRecords records(
      {write_bytes(folder_ / "file.parquet", parquet_bytes(parquet_page(data, {.num_values = (1 << 28) + 1}), file))},
      {}, {1 << 20, 1 << 20});
  Json row;
  EXPECT_THROW(records.next(row), Error);
}

}  // namespace
}  // namespace owlet
