#include "data/sources/parquet_records.hpp"

#include <utility>

#include "base/error.hpp"

namespace owlet {

ParquetRecords::ParquetRecords(const std::vector<std::filesystem::path>& files, RecordOptions options,
                               const parquet::ParquetLimits& limits)
    : options_(std::move(options)), limits_(limits), walk_(files, options_.skips_bad_records) {}

void ParquetRecords::rewind() {
  rows_.reset();
  walk_.rewind();
  num_records_ = 0;
}

void ParquetRecords::open_row_group() {
  const parquet::ParquetFile& file = walk_.file();
  std::vector<const parquet::SchemaNode*> columns;
  if (options_.columns.empty()) {
    for (const parquet::SchemaNode& column : file.schema().columns) columns.push_back(&column);
  } else {
    for (const std::string& name : options_.columns) columns.push_back(&file.column(name));
  }
  check(!columns.empty(), ErrorKind::corrupt_file, "'{}' has {} rows, but no columns", file.name(), file.num_rows());
  rows_.emplace(file, std::move(columns), walk_.row_group(), limits_);
}

bool ParquetRecords::next(Json& record) {
  while (true) {
    if (walk_.rows_left_in_group() == 0) {
      rows_.reset();  // it points into the file
      if (!walk_.next_row_group()) return false;
    }
    try {
      if (!rows_) open_row_group();
      rows_->read(record);
      walk_.count_row();
      ++num_records_;
      return true;
    } catch (const Error& error) {
      rows_.reset();
      walk_.pass_over_group(error);
    }
  }
}

std::unique_ptr<RecordSource> open_parquet(const std::filesystem::path& file, const RecordOptions& options) {
  return std::make_unique<ParquetRecords>(std::vector<std::filesystem::path>{file}, options);
}

}  // namespace owlet
