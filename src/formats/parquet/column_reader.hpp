// One column of one row group, entry by entry.
//
//   for (ColumnReader column(file, leaf, group); !column.is_at_end(); column.advance()) {
//     if (column.has_value()) use(column.bytes());
//   }
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "formats/parquet/page_reader.hpp"

namespace owlet::parquet {

/// What a file may ask for at most. They are far above what writers make.
struct ParquetLimits {
  uint64_t max_page_bytes = uint64_t{1} << 30;  ///< packed and unpacked
  uint64_t max_row_bytes = uint64_t{1} << 30;   ///< one row's values, each counted as its bytes and 32 more
};

/// Streams entries: values, nulls and empty lists, with their levels. Memory: one page, the dictionary, and a thousand
/// entries. `file` must outlive it. Errors name file, column and row group; corrupt_file for damaged pages, unsupported
/// for what is not read.
class ColumnReader {
 public:
  /// `leaf` counts the schema's leaves. Reads the first page.
  ColumnReader(const ParquetFile& file, size_t leaf, size_t row_group, const ParquetLimits& limits = {});
  ColumnReader(ColumnReader&&) noexcept = default;
  ColumnReader& operator=(ColumnReader&&) noexcept = default;

  const SchemaLeaf& leaf() const { return *leaf_; }
  bool is_at_end() const { return entry_ == num_entries_; }

  // Of the current entry; not at the end.
  uint32_t definition_level() const { return definition_[entry_]; }
  uint32_t repetition_level() const { return repetition_[entry_]; }
  bool has_value() const { return definition_[entry_] == leaf_->max_definition_level; }
  // The current entry's value, where it has one; which one follows from value_class() of its type.
  int64_t integer() const { return values_.integers[value_]; }
  double real() const { return values_.reals[value_]; }
  std::string_view bytes() const { return values_.bytes[value_]; }  ///< valid until advance()

  /// To the next entry.
  void advance();

  uint64_t bytes_read() const { return pages_ ? pages_->bytes_read() : 0; }
  /// File, column and row group, for messages.
  std::string place() const;

 private:
  bool read_levels();
  void read_values();
  template <typename Read>
  auto with_place(Read&& read);

  const ParquetFile* file_;
  const SchemaLeaf* leaf_;
  size_t row_group_;
  std::unique_ptr<PageReader> pages_;
  DataPage page_;
  std::unique_ptr<ValueDecoder> decoder_;
  uint32_t num_left_in_page_ = 0;
  std::vector<uint32_t> repetition_, definition_;
  size_t entry_ = 0, num_entries_ = 0;  ///< in the two above
  ValueBatch values_;
  size_t value_ = 0, num_values_ = 0;  ///< in values_
  size_t num_values_left_ = 0;         ///< of the levels above, not yet in values_
};

}  // namespace owlet::parquet
