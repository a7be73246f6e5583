#include "data/sources/parquet_walk.hpp"

#include <utility>

namespace owlet {
namespace fs = std::filesystem;
namespace {

constexpr size_t kMaxNamedSkips = 20;

}  // namespace

ParquetWalk::ParquetWalk(const std::vector<fs::path>& files, bool skips_damaged) : skips_damaged_(skips_damaged) {
  check(!files.empty(), ErrorKind::invalid_argument, "no Parquet file given");
  for (const fs::path& path : files) {
    std::error_code error;
    const fs::file_status status = fs::status(path, error);
    check(fs::exists(status), ErrorKind::not_found, "Parquet file '{}' does not exist", path.string());
    check(!fs::is_directory(status), ErrorKind::invalid_argument, "'{}' is a folder, expected a Parquet file",
          path.string());
    const uint64_t bytes = fs::file_size(path, error);
    files_.push_back({path.string(), error ? 0 : bytes});
  }
}

void ParquetWalk::rewind() {
  next_file_ = row_group_ = 0;
  file_.reset();
  is_before_first_group_ = true;
  first_row_in_group_ = row_in_group_ = bytes_of_finished_files_ = num_skipped_ = 0;
  skipped_.clear();
}

uint64_t ParquetWalk::num_rows_in_group() const {
  return is_before_first_group_ ? 0 : static_cast<uint64_t>(file_->metadata().row_groups[row_group_].num_rows);
}

void ParquetWalk::skip(std::string place, std::string reason, uint64_t num_rows) {
  num_skipped_ += num_rows;
  if (skipped_.size() < kMaxNamedSkips) skipped_.push_back({std::move(place), std::move(reason)});
}

bool ParquetWalk::open_next_file() {
  if (file_) bytes_of_finished_files_ += files_[next_file_ - 1].bytes;
  file_.reset();
  while (next_file_ < files_.size()) {
    const SourceFile& next = files_[next_file_++];
    try {
      file_.emplace(next.path);
      is_before_first_group_ = true;
      first_row_in_group_ = row_in_group_ = 0;
      return true;
    } catch (const Error& error) {
      if (!skips_damaged_ || error.kind() != ErrorKind::corrupt_file) throw;
      bytes_of_finished_files_ += next.bytes;
      skip(next.path, error.what(), 1);
    }
  }
  return false;
}

bool ParquetWalk::next_row_group() {
  while (true) {
    if (!file_ && !open_next_file()) return false;
    first_row_in_group_ += num_rows_in_group();
    row_group_ = is_before_first_group_ ? 0 : row_group_ + 1;
    row_in_group_ = 0;
    if (row_group_ == file_->num_row_groups()) {
      if (!open_next_file()) return false;
      continue;
    }
    is_before_first_group_ = false;
    if (num_rows_in_group() > 0) return true;
  }
}

void ParquetWalk::pass_over_group(const Error& error) {
  if (!skips_damaged_ || error.kind() != ErrorKind::corrupt_file) throw error;
  const uint64_t lost = rows_left_in_group();
  const uint64_t first = first_row_in_group_ + row_in_group_ + 1;
  skip(fmt::format("{}, rows {} to {}", file_->name(), first, first + lost - 1), error.what(), lost);
  row_in_group_ += lost;
}

std::string ParquetWalk::place() const {
  const std::string name = file_ ? file_->name() : files_.back().path;
  return fmt::format("{}, row {}", name, first_row_in_group_ + row_in_group_);
}

uint64_t ParquetWalk::bytes_read() const {
  if (!file_ || file_->num_rows() == 0) return bytes_of_finished_files_;
  const double share =
      static_cast<double>(first_row_in_group_ + row_in_group_) / static_cast<double>(file_->num_rows());
  return bytes_of_finished_files_ + static_cast<uint64_t>(share * static_cast<double>(file_->size_bytes()));
}

}  // namespace owlet
