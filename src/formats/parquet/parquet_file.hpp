// Parquet files, reading only: footer and schema here, columns in column_reader.hpp. Rows as JSON and texts are made in
// data/sources/. Source: apache/parquet-format.
//
//   ParquetFile file("train.parquet");
//   for (size_t group = 0; group < file.num_row_groups(); ++group) {
//     ColumnReader column(file, leaf, group);
//     …
//   }
//
// Not here: writing, encrypted files, Bloom filters, page indexes and statistics.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "base/mapped_file.hpp"
#include "formats/parquet/file_metadata.hpp"
#include "formats/parquet/schema.hpp"

namespace owlet::parquet {

/// What to do about a damaged file: the hint of its errors.
inline constexpr std::string_view kDamagedHint = "the file is cut short or damaged: fetch it again, or leave it out";

/// An open file. Safe to read from several threads.
class ParquetFile {
 public:
  /// Throws Error, naming the file: not_found, io, corrupt_file for what is no whole Parquet file, unsupported for an
  /// encrypted one.
  explicit ParquetFile(const std::filesystem::path& path);

  std::string name() const { return file_.path().string(); }
  uint64_t size_bytes() const { return file_.size(); }
  uint64_t num_rows() const { return static_cast<uint64_t>(metadata_.num_rows); }
  size_t num_row_groups() const { return metadata_.row_groups.size(); }
  const FileMetadata& metadata() const { return metadata_; }
  const Schema& schema() const { return schema_; }
  const MappedFile& bytes() const { return file_; }
  /// Where the footer begins: pages end before it.
  uint64_t data_end() const { return data_end_; }

  /// The column of this name; throws Error invalid_argument naming the columns there are.
  const SchemaNode& column(std::string_view name) const;

 private:
  void read_footer();
  void check_row_groups() const;

  MappedFile file_;
  FileMetadata metadata_;
  Schema schema_;
  uint64_t data_end_ = 0;
};

/// `error` with `place` in front of its message; a damaged file's error gets the hint for that.
Error at_place(const Error& error, std::string_view place);

}  // namespace owlet::parquet
