// The rows of one row group put together from their columns: lists and structs from definition and repetition levels.
#pragma once

#include <cstdint>
#include <vector>

#include "base/json.hpp"
#include "formats/parquet/column_reader.hpp"

namespace owlet {

/// Reads rows of some columns as JSON objects. A map becomes a list of objects {"key", "value"}. Memory: that of the
/// column readers and one row.
class ParquetRows {
 public:
  /// `columns` belong to the schema of `file`, which must outlive this. Throws Error naming file and column.
  ParquetRows(const parquet::ParquetFile& file, std::vector<const parquet::SchemaNode*> columns, size_t row_group,
              const parquet::ParquetLimits& limits = {});

  /// Puts the next row into `row`. Throws Error corrupt_file for columns that do not fit together; the last row finds
  /// out whether a column has more. Not to be called after the last row or after an error.
  void read(Json& row);

 private:
  Json read_node(const parquet::SchemaNode& node);
  Json read_list(const parquet::SchemaNode& node);
  /// Takes one entry, which must be below `level`, from every leaf.
  void take_absent(const parquet::SchemaNode& node, uint32_t level);
  parquet::ColumnReader& reader(size_t leaf) { return readers_[slots_[leaf]]; }
  bool continues(size_t leaf, uint32_t repetition_level);
  void check_end() const;
  [[noreturn]] void fail_apart(size_t leaf);
  void spend(uint64_t bytes, size_t leaf);

  std::vector<const parquet::SchemaNode*> columns_;
  std::vector<size_t> slots_;  ///< leaf of the schema -> place in readers_
  std::vector<parquet::ColumnReader> readers_;
  uint64_t rows_left_;
  uint64_t max_row_bytes_, row_bytes_ = 0;
};

}  // namespace owlet
