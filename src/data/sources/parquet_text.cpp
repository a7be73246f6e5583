#include "data/sources/parquet_text.hpp"

#include <utility>

#include "base/error.hpp"

namespace owlet {
namespace {

bool holds_texts(const parquet::ParquetFile& file, const parquet::SchemaNode& node) {
  if (node.kind != parquet::SchemaNode::Kind::leaf) return false;
  const parquet::SchemaLeaf& leaf = file.schema().leaves[node.first_leaf];
  const parquet::Meaning meaning = leaf.annotation.meaning;
  const bool is_text = meaning == parquet::Meaning::text || meaning == parquet::Meaning::plain;
  // A column of nulls only may have any type.
  return meaning == parquet::Meaning::null || (is_text && leaf.type == parquet::PhysicalType::byte_array);
}

}  // namespace

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
  if (!holds_texts(file, node)) {
    std::string names;
    for (const parquet::SchemaNode& other : file.schema().columns) {
      if (holds_texts(file, other)) names += fmt::format("{}'{}'", names.empty() ? "" : ", ", other.name);
    }
    throw Error(ErrorKind::invalid_argument, fmt::format("'{}': column '{}' holds no texts", file.name(), column_),
                names.empty() ? "no column of it does" : fmt::format("columns that do: {}", names));
  }
  is_entry_used_ = false;
  reader_.emplace(file, node.first_leaf, walk_.row_group(), limits_);
}

void ParquetTextReader::read_entry(std::string_view& text) {
  if (is_entry_used_) reader_->advance();
  is_entry_used_ = true;
  if (reader_->is_at_end()) {
    throw Error(ErrorKind::corrupt_file,
                fmt::format("{}: {} rows are missing", reader_->place(), walk_.rows_left_in_group()),
                std::string(parquet::kDamagedHint));
  }
  // Values in a column of nulls would be a damaged file's; they need not be texts.
  is_null_ = !reader_->has_value() || reader_->leaf().type != parquet::PhysicalType::byte_array;
  text = is_null_ ? std::string_view() : reader_->bytes();
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
