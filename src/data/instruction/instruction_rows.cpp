#include "data/instruction/instruction_rows.hpp"

#include "base/error.hpp"
#include "data/instruction/conversation.hpp"
#include "data/sources/input_files.hpp"
#include "data/sources/open_documents.hpp"
#include "data/sources/open_records.hpp"

namespace owlet {
namespace fs = std::filesystem;
namespace {

constexpr size_t kMaxSkippedShown = 20;
constexpr size_t kMaxBlockBytes = size_t{1} << 20;  ///< of joined lines
constexpr int kRowsLookedAt = 100;

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
  explicit TextBlockRows(std::unique_ptr<DocumentSource> blocks) : blocks_(std::move(blocks)) {}

  bool next(Json& record) override {
    std::string block;
    if (!blocks_->next(block)) return false;
    record = Json{{"text", std::move(block)}};
    return true;
  }

  void rewind() override { blocks_->rewind(); }
  std::string place() const override {
    return fmt::format("{}, block {}", blocks_->files()[0].path, blocks_->num_documents() + blocks_->num_empty());
  }
  uint64_t num_records() const override { return blocks_->num_documents(); }
  uint64_t num_skipped() const override { return blocks_->num_skipped(); }
  const std::vector<SkippedRecord>& skipped() const override { return blocks_->skipped(); }
  uint64_t bytes_read() const override { return blocks_->bytes_read(); }
  const std::vector<SourceFile>& files() const override { return blocks_->files(); }

 private:
  std::unique_ptr<DocumentSource> blocks_;
};

std::string line_of(const Json& row) {
  const auto text = row.find("text");
  return text != row.end() && text->is_string() ? text->get<std::string>() : std::string();
}

bool is_separator(const std::string& line) {
  const size_t begin = line.find(kDefaultSeparator);
  return begin != std::string::npos && is_blank_text(std::string_view(line).substr(0, begin)) &&
         is_blank_text(std::string_view(line).substr(begin + kDefaultSeparator.size()));
}

class JoinedLines final : public RecordSource {
 public:
  explicit JoinedLines(std::unique_ptr<RecordSource> lines) : lines_(std::move(lines)) {}

  bool next(Json& record) override {
    std::string block;
    Json row;
    while (lines_->next(row)) {
      const std::string line = line_of(row);
      if (block.empty()) place_ = lines_->place();
      const bool is_end = is_separator(line);
      if (!is_end) block.append(line).append("\n");
      if (is_blank_text(block)) {
        block.clear();
      } else if (is_end || block.size() > kMaxBlockBytes) {
        return hand_out(std::move(block), record);
      }
    }
    return !block.empty() && hand_out(std::move(block), record);
  }

  void rewind() override {
    lines_->rewind();
    num_blocks_ = 0;
  }

  std::string place() const override { return place_; }
  uint64_t num_records() const override { return num_blocks_; }
  uint64_t num_skipped() const override { return lines_->num_skipped(); }
  const std::vector<SkippedRecord>& skipped() const override { return lines_->skipped(); }
  uint64_t bytes_read() const override { return lines_->bytes_read(); }
  const std::vector<SourceFile>& files() const override { return lines_->files(); }

 private:
  bool hand_out(std::string block, Json& record) {
    record = Json{{"text", std::move(block)}};
    ++num_blocks_;
    return true;
  }

  std::unique_ptr<RecordSource> lines_;
  std::string place_;  ///< of the block's first line
  uint64_t num_blocks_ = 0;
};

}  // namespace

bool holds_lines_of_text(RecordSource& rows) {
  Json row;
  bool found = false;
  for (int i = 0; i < kRowsLookedAt && !found && rows.next(row); ++i)
    found = row.size() == 1 && is_separator(line_of(row));
  rows.rewind();
  return found;
}

std::unique_ptr<RecordSource> join_lines(std::unique_ptr<RecordSource> rows) {
  return std::make_unique<JoinedLines>(std::move(rows));
}

std::unique_ptr<RecordSource> concatenate(std::vector<std::unique_ptr<RecordSource>> sources) {
  return std::make_unique<ConcatenatedRows>(std::move(sources));
}

std::unique_ptr<RecordSource> text_block_rows(const fs::path& file) {
  return std::make_unique<TextBlockRows>(open_file_documents(file, {}));
}

std::unique_ptr<RecordSource> open_instruction_rows(const std::vector<fs::path>& paths) {
  RecordOptions options;
  options.skips_bad_records = true;
  std::vector<std::unique_ptr<RecordSource>> sources;
  std::vector<fs::path> row_files;
  const auto open_row_files = [&] {
    if (!row_files.empty()) sources.push_back(open_records(row_files, options));
    row_files.clear();
  };
  for (const fs::path& file : find_input_files(paths).files) {
    if (input_kind(file) != InputKind::text) {
      row_files.push_back(file);  // a file of unknown kind is refused with the kinds there are
      continue;
    }
    open_row_files();
    sources.push_back(text_block_rows(file));
  }
  open_row_files();
  return concatenate(std::move(sources));
}

}  // namespace owlet
