// The row groups of several Parquet files, one after the other, and an account of those that could not be read.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "data/record_source.hpp"
#include "formats/parquet/parquet_file.hpp"

namespace owlet {

/// Goes through the files in the order given. A damaged file or row group is an error, or, where `skips_damaged`,
/// passed over and counted.
class ParquetWalk {
 public:
  /// Throws Error not_found for a missing file, invalid_argument for no files or a folder.
  ParquetWalk(const std::vector<std::filesystem::path>& files, bool skips_damaged);

  /// To the next row group with rows; false at the end. Throws Error naming the file.
  bool next_row_group();
  /// Back to the beginning; the counts start again.
  void rewind();

  // Of the current row group; valid after next_row_group() returned true.
  const parquet::ParquetFile& file() const { return *file_; }
  size_t row_group() const { return row_group_; }
  uint64_t num_rows_in_group() const;
  /// Takes note of a row handed out.
  void count_row() { ++row_in_group_; }
  /// The rows left are lost: throws `error` again unless it says that the file is damaged and such are passed over.
  void pass_over_group(const Error& error);

  uint64_t rows_left_in_group() const { return file_ ? num_rows_in_group() - row_in_group_ : 0; }
  std::string place() const;  ///< of the row handed out last: file and row, from 1
  uint64_t num_skipped() const { return num_skipped_; }
  const std::vector<SkippedRecord>& skipped() const { return skipped_; }
  uint64_t bytes_read() const;  ///< the share of the current file by its rows
  const std::vector<SourceFile>& files() const { return files_; }

 private:
  bool open_next_file();
  void skip(std::string place, std::string reason, uint64_t num_rows);

  std::vector<SourceFile> files_;
  bool skips_damaged_;
  size_t next_file_ = 0;
  std::optional<parquet::ParquetFile> file_;
  size_t row_group_ = 0;
  bool is_before_first_group_ = true;
  uint64_t first_row_in_group_ = 0, row_in_group_ = 0;
  uint64_t bytes_of_finished_files_ = 0;
  uint64_t num_skipped_ = 0;
  std::vector<SkippedRecord> skipped_;
};

}  // namespace owlet
