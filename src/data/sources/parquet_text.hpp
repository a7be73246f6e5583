// One text column of Parquet files without a detour through JSON.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/record_source.hpp"
#include "data/sources/parquet_walk.hpp"
#include "formats/parquet/column_reader.hpp"

namespace owlet {

/// Hands out one column's texts, row by row. Memory: one page.
class ParquetTextReader {
 public:
  /// Throws Error not_found for a missing file, invalid_argument for no files. Where `skips_damaged`, row groups with
  /// damaged pages and files without a footer are passed over and counted instead of thrown.
  ParquetTextReader(const std::vector<std::filesystem::path>& files, std::string column, bool skips_damaged = false,
                    const parquet::ParquetLimits& limits = {});

  /// The next row's text, valid until the next call; empty, with is_null(), where the row has none. False at the end.
  /// Throws Error naming file, column and row group: invalid_argument where there is no such column of texts.
  bool next(std::string_view& text);
  bool is_null() const { return is_null_; }
  /// Back to the first row; the counts start again.
  void rewind();

  std::string place() const { return walk_.place(); }
  uint64_t num_rows() const { return num_rows_; }  ///< handed out since the start
  uint64_t num_skipped() const { return walk_.num_skipped(); }
  const std::vector<SkippedRecord>& skipped() const { return walk_.skipped(); }
  uint64_t bytes_read() const { return walk_.bytes_read(); }
  const std::vector<SourceFile>& files() const { return walk_.files(); }

 private:
  void open_row_group();
  void read_entry(std::string_view& text);

  std::string column_;
  parquet::ParquetLimits limits_;
  ParquetWalk walk_;
  std::optional<parquet::ColumnReader> reader_;
  bool is_entry_used_ = false, is_null_ = false;
  uint64_t num_rows_ = 0;
};

}  // namespace owlet
