#include "data/sources/open_documents.hpp"

#include "base/error.hpp"
#include "data/sources/input_files.hpp"
#include "data/sources/open_records.hpp"
#include "data/sources/parquet_documents.hpp"
#include "data/sources/skipped_records.hpp"

namespace owlet {
namespace fs = std::filesystem;
namespace {

/// Files one after the other.
class DocumentFiles final : public DocumentSource {
 public:
  DocumentFiles(const std::vector<fs::path>& files, const DocumentOptions& options)
      : options_(options), files_(source_files(files)) {
    check(!files.empty(), ErrorKind::invalid_argument, "no file with documents given");
  }

  bool next(std::string& document) override {
    while (current_ || next_file_ < files_.size()) {
      try {
        if (!current_) current_ = open_file_documents(files_[next_file_++].path, options_);
        if (current_->next(document)) return true;
      } catch (const Error& error) {
        if (!options_.skips_bad_records || error.kind() != ErrorKind::corrupt_file) throw;
        ++done_.skipped;
        const std::string reason = fmt::format("the rest of the file is lost: {}", error.what());
        if (places_.size() < kMaxSkippedPlaces) places_.push_back({files_[next_file_ - 1].path, reason});
      }
      close_current();
    }
    return false;
  }

  void rewind() override {
    current_.reset();
    next_file_ = 0;
    done_ = {};
    places_.clear();
  }
  uint64_t num_documents() const override { return done_.documents + (current_ ? current_->num_documents() : 0); }
  uint64_t num_empty() const override { return done_.empty + (current_ ? current_->num_empty() : 0); }
  uint64_t num_skipped() const override { return done_.skipped + (current_ ? current_->num_skipped() : 0); }
  uint64_t bytes_read() const override { return done_.bytes + (current_ ? current_->bytes_read() : 0); }
  const std::vector<SourceFile>& files() const override { return files_; }
  std::string separator() const override { return options_.separator; }
  const std::vector<SkippedRecord>& skipped() const override {
    shown_places_ = places_;
    if (current_) append_places(current_->skipped(), shown_places_);
    return shown_places_;
  }

 private:
  static void append_places(const std::vector<SkippedRecord>& from, std::vector<SkippedRecord>& to) {
    for (size_t i = 0; i < from.size() && to.size() < kMaxSkippedPlaces; ++i) to.push_back(from[i]);
  }

  void close_current() {
    if (!current_) return;
    done_.documents += current_->num_documents();
    done_.empty += current_->num_empty();
    done_.skipped += current_->num_skipped();
    done_.bytes += current_->bytes_read();
    append_places(current_->skipped(), places_);
    current_.reset();
  }

  struct Counts {
    uint64_t documents = 0, empty = 0, skipped = 0, bytes = 0;
  };
  DocumentOptions options_;
  std::vector<SourceFile> files_;
  size_t next_file_ = 0;
  std::unique_ptr<DocumentSource> current_;
  Counts done_;  ///< of the files before the current one
  std::vector<SkippedRecord> places_;
  mutable std::vector<SkippedRecord> shown_places_;
};

}  // namespace

RecordOptions record_options_for(const DocumentOptions& options) {
  RecordOptions records;
  records.skips_bad_records = options.skips_bad_records;
  records.max_row_bytes = options.max_document_bytes;
  return records;
}

std::unique_ptr<DocumentSource> open_file_documents(const fs::path& file, const DocumentOptions& options) {
  if (inner_extension(file) == ".parquet" && !is_compressed_name(file)) {
    return std::make_unique<ParquetDocuments>(file, options.column, options.skips_bad_records);
  }
  if (const RecordFormat* format = record_format_of(file)) {
    return std::make_unique<RecordDocuments>(format->open(file, record_options_for(options)), options.column,
                                             options.skips_bad_records);
  }
  return std::make_unique<TextFileSource>(std::vector{file}, options.separator, options.max_document_bytes);
}

std::unique_ptr<DocumentSource> open_documents(const std::vector<fs::path>& files, const DocumentOptions& options) {
  return std::make_unique<DocumentFiles>(files, options);
}

std::vector<SourceFile> source_files(const std::vector<fs::path>& files) {
  std::vector<SourceFile> sources;
  for (const fs::path& file : files) {
    std::error_code error;
    const fs::file_status status = fs::status(file, error);
    check(fs::exists(status), ErrorKind::not_found, "the file '{}' does not exist", file.string());
    check(!fs::is_directory(status), ErrorKind::invalid_argument, "'{}' is a folder, expected a file", file.string());
    const uint64_t bytes = fs::is_regular_file(status) ? fs::file_size(file, error) : 0;
    sources.push_back({file.string(), error ? 0 : bytes});
  }
  return sources;
}

}  // namespace owlet
