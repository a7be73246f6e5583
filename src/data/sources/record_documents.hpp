// Documents out of one text column of rows.
#pragma once

#include <memory>
#include <string>

#include "data/document_source.hpp"
#include "data/record_source.hpp"

namespace owlet {

inline constexpr std::string_view kDefaultColumn = "text";

enum class ColumnText { text, empty, bad };

/// Takes the text of `column` out of `record` into `text`. Null and white space count as empty; a missing column (the
/// reason lists those there are) or a value that is no string is bad.
ColumnText take_column(Json& record, const std::string& column, std::string& text, std::string& reason);

/// Throws corrupt_file for a row without the text wanted, with a hint to --column.
[[noreturn]] void fail_column(const std::string& place, const std::string& reason);

/// The documents of one column. Not thread-safe.
class RecordDocuments final : public DocumentSource {
 public:
  /// `skips` passes over rows without that text, and is what the records were opened with.
  RecordDocuments(std::unique_ptr<RecordSource> records, std::string column, bool skips);
  bool next(std::string& document) override;
  void rewind() override;
  uint64_t num_documents() const override { return num_documents_; }
  uint64_t num_empty() const override { return num_empty_; }
  uint64_t num_skipped() const override { return num_skipped_ + records_->num_skipped(); }
  const std::vector<SkippedRecord>& skipped() const override;
  const std::vector<SourceFile>& files() const override { return records_->files(); }
  std::string separator() const override { return "column " + column_; }
  uint64_t bytes_read() const override { return records_->bytes_read(); }

 private:
  std::unique_ptr<RecordSource> records_;
  std::string column_;
  bool skips_;
  uint64_t num_documents_ = 0, num_empty_ = 0, num_skipped_ = 0;
  std::vector<SkippedRecord> own_skipped_;
  mutable std::vector<SkippedRecord> all_skipped_;
};

}  // namespace owlet
