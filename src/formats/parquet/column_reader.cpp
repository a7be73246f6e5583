#include "formats/parquet/column_reader.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace owlet::parquet {
namespace {

constexpr size_t kBatchEntries = 1024;

}  // namespace

template <typename Read>
auto ColumnReader::with_place(Read&& read) {
  try {
    return read();
  } catch (const Error& error) {
    throw at_place(error, place());
  }
}

ColumnReader::ColumnReader(const ParquetFile& file, size_t leaf, size_t row_group, const ParquetLimits& limits)
    : file_(&file), leaf_(&file.schema().leaves.at(leaf)), row_group_(row_group) {
  const RowGroup& group = file.metadata().row_groups.at(row_group);
  const ColumnChunk& chunk = group.columns.at(leaf);
  with_place([&] {
    check(leaf_->max_repetition_level > 0 || chunk.num_values == group.num_rows, ErrorKind::corrupt_file,
          "{} values in {} rows", chunk.num_values, group.num_rows);
    pages_ = std::make_unique<PageReader>(file, chunk, *leaf_, limits.max_page_bytes);
    read_levels();
  });
}

std::string ColumnReader::place() const {
  return fmt::format("'{}', column '{}', row group {}", file_->name(), leaf_->path, row_group_);
}

bool ColumnReader::read_levels() {
  entry_ = num_entries_ = 0;
  if (num_left_in_page_ == 0) {
    decoder_.reset();
    if (!pages_->next(page_)) return false;
    num_left_in_page_ = page_.num_entries;
    decoder_ = make_value_decoder(page_.encoding, *leaf_, page_.values, pages_->dictionary());
  }
  const size_t count = std::min<size_t>(kBatchEntries, num_left_in_page_);
  repetition_.resize(count);
  definition_.resize(count);
  page_.repetition.decode(repetition_);
  page_.definition.decode(definition_);
  num_left_in_page_ -= static_cast<uint32_t>(count);
  num_values_left_ =
      static_cast<size_t>(std::count(definition_.begin(), definition_.end(), leaf_->max_definition_level));
  value_ = num_values_ = 0;
  if (num_values_left_ > 0) read_values();
  num_entries_ = count;
  return true;
}

void ColumnReader::read_values() {
  // Never more than the levels say: behind the last value, padding may stand.
  num_values_ = decoder_->decode(num_values_left_, values_);
  num_values_left_ -= num_values_;
  value_ = 0;
}

void ColumnReader::advance() {
  const bool had_value = has_value();
  if (had_value && ++value_ == num_values_ && num_values_left_ > 0) with_place([&] { read_values(); });
  if (++entry_ == num_entries_) with_place([&] { read_levels(); });
}

}  // namespace owlet::parquet
