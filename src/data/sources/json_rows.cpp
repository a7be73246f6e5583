#include "data/sources/json_rows.hpp"

#include "data/sources/json_array_reader.hpp"
#include "data/sources/line_reader.hpp"
#include "data/sources/skipped_records.hpp"

namespace owlet {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kJsonSpace = " \t\r\n";

bool is_blank(std::string_view line) { return line.find_first_not_of(kJsonSpace) == std::string_view::npos; }

void keep_columns(const std::vector<std::string>& columns, Json& record) {
  if (columns.empty()) return;
  Json kept = Json::object();
  for (const std::string& column : columns) {
    const auto found = record.find(column);
    if (found != record.end()) kept[column] = std::move(*found);
  }
  record = std::move(kept);
}

/// Rows of one file; what cuts it into rows differs.
class JsonRows : public RecordSource {
 public:
  JsonRows(const fs::path& file, const RecordOptions& options)
      : path_(file), options_(options), skipped_(options.skips_bad_records) {
    std::error_code error;
    const fs::file_status status = fs::status(file, error);
    check(fs::exists(status), ErrorKind::not_found, "the file '{}' does not exist", file.string());
    files_.push_back({file.string(), fs::is_regular_file(status) ? fs::file_size(file) : 0});
  }

  bool next(Json& record) override {
    std::string_view text;
    std::string reason;
    while (!is_at_end_) {
      try {
        if (!next_row(text, reason)) is_at_end_ = true;
      } catch (const Error& error) {
        // Nothing behind damaged packed bytes or a broken array can be read; other files can.
        if (!skipped_.skips() || error.kind() != ErrorKind::corrupt_file) throw;
        is_at_end_ = true;
        skipped_.add(place(), fmt::format("the rest of the file is lost: {}", error.what()));
      }
      if (is_at_end_) break;
      if (reason.empty() && parse_json_object(text, record, reason)) {
        keep_columns(options_.columns, record);
        ++num_records_;
        return true;
      }
      skipped_.add(place(), reason);
      reason.clear();
    }
    return false;
  }

  void rewind() override {
    is_at_end_ = false;
    num_records_ = 0;
    skipped_.clear();
    reopen();
  }
  uint64_t num_records() const override { return num_records_; }
  uint64_t num_skipped() const override { return skipped_.count(); }
  const std::vector<SkippedRecord>& skipped() const override { return skipped_.places(); }
  const std::vector<SourceFile>& files() const override { return files_; }

 protected:
  /// The next row's text, or why it has none; false at the end.
  virtual bool next_row(std::string_view& text, std::string& reason) = 0;
  virtual void reopen() = 0;

  fs::path path_;
  RecordOptions options_;

 private:
  SkippedRecords skipped_;
  std::vector<SourceFile> files_;
  uint64_t num_records_ = 0;
  bool is_at_end_ = false;
};

class JsonLines final : public JsonRows {
 public:
  JsonLines(const fs::path& file, const RecordOptions& options)
      : JsonRows(file, options), reader_(std::make_unique<LineReader>(file, options.max_row_bytes)) {}
  std::string place() const override { return fmt::format("{}, line {}", path_.string(), reader_->line_number()); }
  uint64_t bytes_read() const override { return reader_->file_bytes_read(); }

 private:
  bool next_row(std::string_view& text, std::string& reason) override {
    do {
      if (!reader_->next(text)) return false;
    } while (is_blank(text) && !reader_->is_too_long());
    if (reader_->is_too_long()) reason = fmt::format("longer than {} bytes", options_.max_row_bytes);
    return true;
  }
  void reopen() override { reader_ = std::make_unique<LineReader>(path_, options_.max_row_bytes); }

  std::unique_ptr<LineReader> reader_;
};

class JsonArray final : public JsonRows {
 public:
  JsonArray(const fs::path& file, const RecordOptions& options)
      : JsonRows(file, options), reader_(std::make_unique<JsonArrayReader>(file, options.max_row_bytes)) {}
  std::string place() const override { return fmt::format("{}, row {}", path_.string(), reader_->row_number()); }
  uint64_t bytes_read() const override { return reader_->file_bytes_read(); }

 private:
  bool next_row(std::string_view& text, std::string& reason) override {
    if (!reader_->next(text)) return false;
    if (reader_->is_too_long()) reason = fmt::format("longer than {} bytes", options_.max_row_bytes);
    return true;
  }
  void reopen() override { reader_ = std::make_unique<JsonArrayReader>(path_, options_.max_row_bytes); }

  std::unique_ptr<JsonArrayReader> reader_;
};

}  // namespace

bool parse_json_object(std::string_view text, Json& record, std::string& reason) {
  // The parser would take a byte order mark at the beginning of any row; it belongs at the beginning of a file only.
  if (text.starts_with("\xEF\xBB\xBF")) {
    reason = "a byte order mark inside the file";
    return false;
  }
  try {
    record = parse_json_row(text);
  } catch (const Error& error) {
    reason = error.what();
    return false;
  }
  if (record.is_object()) return true;
  reason =
      fmt::format("the row is {} {}, expected an object {{…}}", record.is_array() ? "an" : "a", record.type_name());
  return false;
}

std::unique_ptr<RecordSource> open_json_lines(const fs::path& file, const RecordOptions& options) {
  return std::make_unique<JsonLines>(file, options);
}

std::unique_ptr<RecordSource> open_json(const fs::path& file, const RecordOptions& options) {
  if (begins_json_array(file)) return std::make_unique<JsonArray>(file, options);
  return std::make_unique<JsonLines>(file, options);
}

}  // namespace owlet
