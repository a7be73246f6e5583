#include "data/sources/parquet_records.hpp"

#include <gtest/gtest.h>

#include "base/temporary_folder.hpp"
#include "data/sources/open_records.hpp"
#include "data/sources/parquet_text.hpp"
#include "tests/support/parquet_golden.hpp"

namespace owlet {
namespace {

namespace fs = std::filesystem;

std::vector<Json> read_all(const std::vector<fs::path>& files, const RecordOptions& options = {}) {
  ParquetRecords records(files, options);
  std::vector<Json> rows;
  Json row;
  while (records.next(row)) rows.push_back(row);
  return rows;
}

/// "kind: message | hint" of reading everything, empty where nothing is wrong.
std::string error_of(const std::vector<fs::path>& files, const RecordOptions& options = {}) {
  try {
    read_all(files, options);
  } catch (const Error& error) {
    return fmt::format("{}: {} | {}", to_string(error.kind()), error.what(), error.hint());
  }
  return {};
}

class ParquetRecordsTest : public testing::Test {
 protected:
  fs::path golden(const std::string& name) {
    return write_bytes(folder_ / (name + ".parquet"), parquet_golden_bytes(name));
  }
  TemporaryFolder folder_;
};

TEST_F(ParquetRecordsTest, ReadsWhatPyarrowAndDuckdbWrote) {
  for (const Json& golden : parquet_goldens()) {
    const std::string name = golden["name"];
    if (name == "brotli" || name == "lz4") continue;
    const fs::path path = write_bytes(folder_ / name, decode_base64(golden["base64"].get<std::string>()));
    const std::vector<Json> rows = read_all({path});
    ASSERT_EQ(rows.size(), golden["rows"].size()) << name;
    for (size_t i = 0; i < rows.size(); ++i) EXPECT_EQ(rows[i], golden["rows"][i]) << name << " row " << i;
  }
}

TEST_F(ParquetRecordsTest, ReadsWantedColumnsOnlyAndSeveralFiles) {
  const fs::path first = golden("row_groups"), empty = golden("no_rows"), second = golden("flat_snappy");
  ParquetRecords records({first, second}, {{"few"}, false});
  Json row;
  uint64_t count = 0;
  while (records.next(row)) {
    EXPECT_EQ(row.size(), 1u);
    EXPECT_TRUE(row.contains("few"));
    ++count;
    if (count == 9) {
      EXPECT_EQ(records.place(), first.string() + ", row 9");
    } else if (count == 26) {
      EXPECT_EQ(records.place(), second.string() + ", row 1");
    }
  }
  EXPECT_EQ(count, 30u);
  EXPECT_EQ(records.num_records(), 30u);
  EXPECT_EQ(records.bytes_read(), records.files()[0].bytes + records.files()[1].bytes);
  records.rewind();
  EXPECT_EQ(records.bytes_read(), 0u);
  ASSERT_TRUE(records.next(row));
  EXPECT_EQ(row, read_all({first}, {{"few"}, false})[0]);
  EXPECT_TRUE(read_all({empty}).empty());
}

TEST_F(ParquetRecordsTest, RefusesByName) {
  EXPECT_EQ(error_of({golden("brotli")}).find("unsupported"), 0u);
  EXPECT_NE(error_of({golden("brotli")}).find("packed with brotli"), std::string::npos);
  EXPECT_NE(error_of({golden("lz4")}).find("packed with lz4"), std::string::npos);
  const std::string message = error_of({golden("row_groups")}, {{"txt"}, false});
  EXPECT_EQ(message.find("invalid_argument"), 0u) << message;
  EXPECT_NE(message.find("no column 'txt'"), std::string::npos) << message;
  EXPECT_NE(message.find("'few', 'count'"), std::string::npos) << message;
  EXPECT_NE(error_of({folder_ / "missing.parquet"}).find("missing.parquet"), std::string::npos);
}

TEST_F(ParquetRecordsTest, CutFileIsNamedAndTheOthersAreKept) {
  const fs::path first = golden("row_groups"), last = golden("duckdb_v1");
  std::string bytes = parquet_golden_bytes("duckdb_v2");
  const fs::path cut = write_bytes(folder_ / "cut.parquet", std::string_view(bytes).substr(0, bytes.size() - 8));
  const std::string message = error_of({first, cut, last}, {{"few"}, false});
  EXPECT_EQ(message.find("corrupt_file"), 0u) << message;
  EXPECT_NE(message.find("cut.parquet"), std::string::npos) << message;
  EXPECT_NE(message.find("footer is missing"), std::string::npos) << message;
  EXPECT_NE(message.find("fetch it again"), std::string::npos) << message;

  ParquetRecords records({first, cut, last}, {{"few"}, true});
  Json row;
  while (records.next(row)) {
  }
  EXPECT_EQ(records.num_records(), 25u + 9u);
  EXPECT_EQ(records.num_skipped(), 1u);
  ASSERT_EQ(records.skipped().size(), 1u);
  EXPECT_EQ(records.skipped()[0].place, cut.string());
}

TEST_F(ParquetRecordsTest, DamagedPageNamesFileColumnAndRowGroup) {
  std::string bytes = parquet_golden_bytes("nested_zstd");
  bytes[bytes.find("\x28\xB5\x2F\xFD") + 6] ^= 0x55;  // behind the magic number of the first zstd page
  const fs::path path = write_bytes(folder_ / "bad.parquet", bytes);
  const std::string message = error_of({path});
  EXPECT_EQ(message.find("corrupt_file"), 0u) << message;
  EXPECT_NE(message.find("bad.parquet', column 'tokens.list.element', row group 0"), std::string::npos) << message;
  EXPECT_NE(message.find("checksum"), std::string::npos) << message;
  ParquetRecords records({path, golden("row_groups")}, {{}, true});
  Json row;
  while (records.next(row)) {
  }
  EXPECT_EQ(records.num_records(), 25u);
  EXPECT_EQ(records.num_skipped(), 9u);
  EXPECT_EQ(records.skipped()[0].place, path.string() + ", rows 1 to 9");
}

TEST_F(ParquetRecordsTest, OpenRecordsKnowsTheExtension) {
  const auto records = open_records({golden("row_groups"), golden("duckdb_v1")}, {{"few"}, false});
  Json row;
  while (records->next(row)) {
  }
  EXPECT_EQ(records->num_records(), 25u + 9u);
}

TEST_F(ParquetRecordsTest, TextReaderGivesTheSameTexts) {
  for (const std::string name : {"flat_snappy", "flat_plain_v2", "delta", "duckdb_v1", "duckdb_v2", "no_rows"}) {
    const fs::path path = golden(name);
    const std::vector<Json> rows = read_all({path, path}, {{"text"}, false});
    ParquetTextReader reader({path, path}, "text");
    for (int pass = 0; pass < 2; ++pass) {
      std::string_view text;
      for (const Json& row : rows) {
        ASSERT_TRUE(reader.next(text)) << name;
        EXPECT_EQ(reader.is_null(), row["text"].is_null());
        EXPECT_EQ(text, row["text"].is_null() ? "" : row["text"].get<std::string>());
      }
      EXPECT_FALSE(reader.next(text));
      EXPECT_EQ(reader.num_rows(), rows.size());
      reader.rewind();
    }
  }
}

TEST_F(ParquetRecordsTest, TextReaderRefusesOtherColumns) {
  for (const std::string column : {"messages", "int64"}) {
    ParquetTextReader reader({golden("duckdb_v1")}, column);
    std::string_view text;
    try {
      reader.next(text);
      ADD_FAILURE() << column;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::invalid_argument);
      EXPECT_EQ(error.hint(), "columns that do: 'text', 'few'");
    }
  }
}

TEST_F(ParquetRecordsTest, TextReaderReadsAColumnOfNulls) {
  ParquetTextReader reader({golden("flat_snappy")}, "nothing");
  std::string_view text;
  while (reader.next(text)) EXPECT_TRUE(reader.is_null() && text.empty());
  EXPECT_EQ(reader.num_rows(), 5u);
}

}  // namespace
}  // namespace owlet
