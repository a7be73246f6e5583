#include "data/instruction/instruction_rows.hpp"

#include "base/error.hpp"
#include "data/sources/open_records.hpp"
#include "data/sources/text_file.hpp"

namespace owlet {
namespace fs = std::filesystem;
namespace {

constexpr size_t kMaxSkippedShown = 20;

class ConcatenatedRows final : public RecordSource {
 public:
  explicit ConcatenatedRows(std::vector<std::unique_ptr<RecordSource>> sources) : sources_(std::move(sources)) {
    check(!sources_.empty(), ErrorKind::invalid_argument, "no files given");
    for (const auto& source : sources_) files_.insert(files_.end(), source->files().begin(), source->files().end());
  }

  bool next(Json& record) override {
    for (; current_ < sources_.size(); ++current_) {
      if (sources_[current_]->next(record)) return true;
      for (const SkippedRecord& record_skipped : sources_[current_]->skipped()) {
        if (skipped_.size() < kMaxSkippedShown) skipped_.push_back(record_skipped);
      }
    }
    return false;
  }

  void rewind() override {
    for (const auto& source : sources_) source->rewind();
    skipped_.clear();
    current_ = 0;
  }

  std::string place() const override { return sources_[std::min(current_, sources_.size() - 1)]->place(); }
  uint64_t num_records() const override { return sum(&RecordSource::num_records); }
  uint64_t num_skipped() const override { return sum(&RecordSource::num_skipped); }
  /// Those of the files that were read to their end.
  const std::vector<SkippedRecord>& skipped() const override { return skipped_; }
  uint64_t bytes_read() const override { return sum(&RecordSource::bytes_read); }
  const std::vector<SourceFile>& files() const override { return files_; }

 private:
  uint64_t sum(uint64_t (RecordSource::*count)() const) const {
    uint64_t total = 0;
    for (const auto& source : sources_) total += (source.get()->*count)();
    return total;
  }

  std::vector<std::unique_ptr<RecordSource>> sources_;
  size_t current_ = 0;
  std::vector<SourceFile> files_;
  std::vector<SkippedRecord> skipped_;
};

class TextBlockRows final : public RecordSource {
 public:
  explicit TextBlockRows(const fs::path& file) : source_({file}) {}

  bool next(Json& record) override {
    std::string block;
    if (!source_.next(block)) return false;
    bytes_read_ += block.size();
    record = Json{{"text", std::move(block)}};
    return true;
  }

  void rewind() override {
    source_.rewind();
    bytes_read_ = 0;
  }

  std::string place() const override {
    return fmt::format("{}, block {}", source_.files()[0].path, source_.num_documents() + source_.num_empty());
  }
  uint64_t num_records() const override { return source_.num_documents(); }
  uint64_t num_skipped() const override { return 0; }
  const std::vector<SkippedRecord>& skipped() const override { return skipped_; }
  uint64_t bytes_read() const override { return bytes_read_; }
  const std::vector<SourceFile>& files() const override { return source_.files(); }

 private:
  TextFileSource source_;
  uint64_t bytes_read_ = 0;
  std::vector<SkippedRecord> skipped_;
};

}  // namespace

std::unique_ptr<RecordSource> concatenate(std::vector<std::unique_ptr<RecordSource>> sources) {
  return std::make_unique<ConcatenatedRows>(std::move(sources));
}

std::unique_ptr<RecordSource> text_block_rows(const fs::path& file) { return std::make_unique<TextBlockRows>(file); }

std::unique_ptr<RecordSource> open_instruction_rows(const std::vector<fs::path>& files) {
  RecordOptions options;
  options.skips_bad_records = true;
  std::vector<std::unique_ptr<RecordSource>> sources;
  std::vector<fs::path> row_files;
  const auto open_row_files = [&] {
    if (!row_files.empty()) sources.push_back(open_records(row_files, options));
    row_files.clear();
  };
  for (const fs::path& file : files) {
    if (file.extension() != ".txt") {
      row_files.push_back(file);
      continue;
    }
    open_row_files();
    sources.push_back(text_block_rows(file));
  }
  open_row_files();
  return concatenate(std::move(sources));
}

}  // namespace owlet
