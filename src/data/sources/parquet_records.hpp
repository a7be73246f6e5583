// Rows of Parquet files as JSON objects.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

#include "data/record_source.hpp"
#include "data/sources/parquet_rows.hpp"
#include "data/sources/parquet_walk.hpp"

namespace owlet {

/// Reads the wanted columns of the files' rows, in order; see parquet_cell.hpp for how values look in JSON. Memory: one
/// page of each wanted column and one row. Passing over bad records means row groups whose pages are damaged (their
/// rows are counted) and files without a footer (counted as one each).
class ParquetRecords final : public RecordSource {
 public:
  /// Throws Error not_found for a missing file, invalid_argument for no files.
  explicit ParquetRecords(const std::vector<std::filesystem::path>& files, RecordOptions options = {},
                          const parquet::ParquetLimits& limits = {});

  /// Also throws Error invalid_argument for a file without a wanted column, unsupported for encodings, codecs and types
  /// that are not read.
  bool next(Json& record) override;
  void rewind() override;
  std::string place() const override { return walk_.place(); }
  uint64_t num_records() const override { return num_records_; }
  uint64_t num_skipped() const override { return walk_.num_skipped(); }
  const std::vector<SkippedRecord>& skipped() const override { return walk_.skipped(); }
  uint64_t bytes_read() const override { return walk_.bytes_read(); }
  const std::vector<SourceFile>& files() const override { return walk_.files(); }

 private:
  void open_row_group();

  RecordOptions options_;
  parquet::ParquetLimits limits_;
  ParquetWalk walk_;
  std::optional<ParquetRows> rows_;
  uint64_t num_records_ = 0;
};

/// The rows of one file; see ParquetRecords.
std::unique_ptr<RecordSource> open_parquet(const std::filesystem::path& file, const RecordOptions& options);

}  // namespace owlet
