#include "data/sources/open_records.hpp"

#include "data/sources/byte_stream.hpp"
#include "data/sources/json_rows.hpp"
#include "data/sources/parquet_records.hpp"
#include "data/sources/skipped_records.hpp"

namespace owlet {
namespace fs = std::filesystem;
namespace {

std::string known_extensions() {
  std::string names;
  for (const RecordFormat& format : record_formats()) names += (names.empty() ? "" : ", ") + format.extension;
  return names;
}

/// Files one after the other.
class RecordFiles final : public RecordSource {
 public:
  RecordFiles(const std::vector<fs::path>& files, const RecordOptions& options) : options_(options) {
    check(!files.empty(), ErrorKind::invalid_argument, "no file with rows given");
    for (const fs::path& file : files) {
      if (record_format_of(file) == nullptr) {
        throw Error(ErrorKind::unsupported, fmt::format("'{}' is no file with rows as its name goes", file.string()),
                    fmt::format("known are {}", known_extensions()));
      }
      std::error_code error;
      const fs::file_status status = fs::status(file, error);
      check(fs::exists(status), ErrorKind::not_found, "the file '{}' does not exist", file.string());
      check(!fs::is_directory(status), ErrorKind::invalid_argument, "'{}' is a folder, expected a file", file.string());
      files_.push_back({file.string(), fs::is_regular_file(status) ? fs::file_size(file) : 0});
    }
  }

  bool next(Json& record) override {
    while (next_file_ < files_.size() || current_) {
      if (!current_) open_next();
      if (!current_) continue;
      if (current_->next(record)) {
        ++num_records_;
        return true;
      }
      close_current();
    }
    return false;
  }

  void rewind() override {
    current_.reset();
    next_file_ = 0;
    num_records_ = num_skipped_ = bytes_read_ = 0;
    skipped_.clear();
    num_shown_ = 0;
  }

  std::string place() const override { return current_ ? current_->place() : last_place_; }
  uint64_t num_records() const override { return num_records_; }
  uint64_t num_skipped() const override { return num_skipped_ + (current_ ? current_->num_skipped() : 0); }
  uint64_t bytes_read() const override { return bytes_read_ + (current_ ? current_->bytes_read() : 0); }
  const std::vector<SourceFile>& files() const override { return files_; }
  const std::vector<SkippedRecord>& skipped() const override {
    if (current_) keep_skipped();
    return skipped_;
  }

 private:
  void open_next() {
    const fs::path file = files_[next_file_++].path;
    num_shown_ = 0;
    try {
      current_ = record_format_of(file)->open(file, options_);
    } catch (const Error& error) {
      // A file that is damaged as a whole counts as one bad row, and the others are still read.
      if (!options_.skips_bad_records || error.kind() != ErrorKind::corrupt_file) throw;
      ++num_skipped_;
      if (skipped_.size() < kMaxSkippedPlaces) skipped_.push_back({file.string(), error.what()});
    }
  }

  void close_current() {
    keep_skipped();
    last_place_ = current_->place();
    num_skipped_ += current_->num_skipped();
    bytes_read_ += current_->bytes_read();
    current_.reset();
  }

  void keep_skipped() const {
    const std::vector<SkippedRecord>& places = current_->skipped();
    for (; num_shown_ < places.size() && skipped_.size() < kMaxSkippedPlaces; ++num_shown_) {
      skipped_.push_back(places[num_shown_]);
    }
  }

  RecordOptions options_;
  std::vector<SourceFile> files_;
  size_t next_file_ = 0;
  std::unique_ptr<RecordSource> current_;
  std::string last_place_;
  uint64_t num_records_ = 0, num_skipped_ = 0, bytes_read_ = 0;
  mutable std::vector<SkippedRecord> skipped_;
  mutable size_t num_shown_ = 0;  ///< places of the current file that are in skipped_
};

}  // namespace

const std::vector<RecordFormat>& record_formats() {
  static const std::vector<RecordFormat> formats = {
      {".jsonl", true, open_json_lines},
      {".ndjson", true, open_json_lines},
      {".json", true, open_json},
      {".parquet", false, open_parquet},
  };
  return formats;
}

const RecordFormat* record_format_of(const fs::path& file) {
  const std::string extension = inner_extension(file);
  for (const RecordFormat& format : record_formats()) {
    if (format.extension == extension && (format.may_be_packed || !is_compressed_name(file))) return &format;
  }
  return nullptr;
}

std::unique_ptr<RecordSource> open_records(const std::vector<fs::path>& files, const RecordOptions& options) {
  return std::make_unique<RecordFiles>(files, options);
}

}  // namespace owlet
