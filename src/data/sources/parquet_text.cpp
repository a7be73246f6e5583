#include "data/sources/parquet_text.hpp"

#include <utility>

#include "base/error.hpp"

namespace owlet {

ParquetTextReader::ParquetTextReader(const std::vector<std::filesystem::path>& files, std::string column,
                                     bool skips_damaged, const parquet::ParquetLimits& limits)
    : column_(std::move(column)), limits_(limits), walk_(files, skips_damaged) {}

void ParquetTextReader::rewind() {
  reader_.reset();
  walk_.rewind();
  num_rows_ = 0;
  is_null_ = is_entry_used_ = false;
}

void ParquetTextReader::open_row_group() {
  const parquet::ParquetFile& file = walk_.file();
  const parquet::SchemaNode& node = file.column(column_);
  const parquet::SchemaLeaf* leaf =
      node.kind == parquet::SchemaNode::Kind::leaf ? &file.schema().leaves[node.first_leaf] : nullptr;
  const parquet::Meaning meaning = leaf != nullptr ? leaf->annotation.meaning : parquet::Meaning::unsupported;
  const bool is_text = leaf != nullptr && leaf->type == parquet::PhysicalType::byte_array &&
                       (meaning == parquet::Meaning::text || meaning == parquet::Meaning::plain);
  check(is_text || meaning == parquet::Meaning::null, ErrorKind::invalid_argument, "'{}': column '{}' holds no texts",
        file.name(), column_);
  is_entry_used_ = false;
  reader_.emplace(file, node.first_leaf, walk_.row_group(), limits_);
}

bool ParquetTextReader::read_entry(std::string_view& text) {
  if (is_entry_used_) reader_->advance();
  is_entry_used_ = true;
  if (reader_->is_at_end()) {
    throw Error(ErrorKind::corrupt_file,
                fmt::format("{}: {} rows are missing", reader_->place(), walk_.rows_left_in_group()),
                std::string(parquet::kDamagedHint));
  }
  is_null_ = !reader_->has_value();
  text = is_null_ ? std::string_view() : reader_->bytes();
  return true;
}

bool ParquetTextReader::next(std::string_view& text) {
  while (true) {
    if (walk_.rows_left_in_group() == 0) {
      reader_.reset();  // it points into the file
      if (!walk_.next_row_group()) return false;
    }
    try {
      if (!reader_) open_row_group();
      read_entry(text);
      walk_.count_row();
      ++num_rows_;
      return true;
    } catch (const Error& error) {
      reader_.reset();
      walk_.pass_over_group(error);
    }
  }
}

}  // namespace owlet
