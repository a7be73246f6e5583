// Documents out of one text column of a Parquet file.
#pragma once

#include <filesystem>
#include <string>

#include "data/document_source.hpp"
#include "data/sources/parquet_text.hpp"

namespace owlet {

/// Rows without a value and of white space count as empty. Not thread-safe.
class ParquetDocuments final : public DocumentSource {
 public:
  /// `skips_bad` passes over damaged row groups and counts their rows. Throws as ParquetTextReader.
  ParquetDocuments(const std::filesystem::path& file, const std::string& column, bool skips_bad);
  bool next(std::string& document) override;
  void rewind() override;
  uint64_t num_documents() const override { return num_documents_; }
  uint64_t num_empty() const override { return num_empty_; }
  uint64_t num_skipped() const override { return reader_.num_skipped(); }
  const std::vector<SkippedRecord>& skipped() const override { return reader_.skipped(); }
  uint64_t bytes_read() const override { return reader_.bytes_read(); }
  const std::vector<SourceFile>& files() const override { return reader_.files(); }
  std::string separator() const override { return "column " + column_; }

 private:
  std::string column_;
  ParquetTextReader reader_;
  uint64_t num_documents_ = 0, num_empty_ = 0;
};

}  // namespace owlet
