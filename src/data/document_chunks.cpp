#include "data/document_chunks.hpp"

#include "base/error.hpp"
#include "data/sources/input_files.hpp"
#include "data/sources/json_array_reader.hpp"
#include "data/sources/json_rows.hpp"
#include "data/sources/open_records.hpp"
#include "data/sources/skipped_records.hpp"

namespace owlet {
namespace fs = std::filesystem;
namespace {

constexpr size_t kChunkDocuments = 8192;

bool is_blank(std::string_view line) { return line.find_first_not_of(" \t\r\n") == std::string_view::npos; }

/// Files whose rows are lines: they can be cut without being parsed.
bool has_json_lines(const fs::path& file) {
  const RecordFormat* format = record_format_of(file);
  if (format == nullptr) return false;
  return format->open == open_json_lines || (format->open == open_json && !begins_json_array(file));
}

std::string line_place(const std::string& path, uint64_t line) { return fmt::format("{}, line {}", path, line); }

}  // namespace

OrderedJson to_json(const SourcePosition& position) {
  return {{"file", position.file},
          {"offset", position.offset},
          {"count", position.count},
          {"has_seen_separator", position.has_seen_separator},
          {"is_unchanged", position.is_unchanged}};
}

SourcePosition source_position_from_json(const Json& json, const std::string& source) {
  return {json_get<uint64_t>(json, "file", source), json_get<uint64_t>(json, "offset", source),
          json_get<uint64_t>(json, "count", source), json_get<bool>(json, "has_seen_separator", source),
          json_get<bool>(json, "is_unchanged", source)};
}

void parse_lines(DocumentChunk& chunk, const DocumentOptions& options) {
  Json record;
  std::string document, reason;
  uint64_t number = chunk.first_line;
  const std::string_view lines = chunk.lines;
  const auto skip = [&] {
    ++chunk.num_skipped;
    if (chunk.skipped.size() < kMaxSkippedPlaces) chunk.skipped.push_back({line_place(chunk.path, number), reason});
  };
  for (size_t begin = 0; begin < lines.size(); ++number) {
    const size_t end = lines.find('\n', begin);
    const std::string_view line = lines.substr(begin, end - begin);
    begin = end + 1;
    if (is_blank(line)) continue;
    if (!parse_json_object(line, record, reason)) {
      if (!options.skips_bad_records) SkippedRecords(false).add(line_place(chunk.path, number), reason);
      skip();
      continue;
    }
    const ColumnText kind = take_column(record, options.column, document, reason);
    if (kind == ColumnText::text) {
      chunk.documents.push_back(std::move(document));
    } else if (kind == ColumnText::empty) {
      ++chunk.num_empty;
    } else {
      if (!options.skips_bad_records) fail_column(line_place(chunk.path, number), reason);
      skip();
    }
  }
  chunk.lines = std::string();
}

ChunkReader::ChunkReader(std::vector<fs::path> files, const DocumentOptions& options, uint64_t chunk_bytes)
    : files_(std::move(files)), options_(options), chunk_bytes_(chunk_bytes) {
  for (const SourceFile& file : source_files(files_)) file_bytes_.push_back(file.bytes);
}

void ChunkReader::open_file() {
  const fs::path& file = files_[file_];
  is_open_ = true;
  counted_empty_ = counted_skipped_ = documents_before_ = 0;
  counted_places_ = 0;
  if (has_json_lines(file)) {
    lines_ = std::make_unique<LineReader>(file, options_.max_document_bytes);
    return;
  }
  source_ = open_file_documents(file, options_);
  text_ = dynamic_cast<TextFileSource*>(source_.get());
}

void ChunkReader::close_file() {
  lines_.reset();
  source_.reset();
  text_ = nullptr;
  is_open_ = false;
  bytes_before_ += file_bytes_[file_];
  ++file_;
}

void ChunkReader::seek(const SourcePosition& position) {
  check(position.file <= files_.size(), ErrorKind::invalid_argument, "file {} of {} is sought", position.file,
        files_.size());
  while (file_ < position.file) bytes_before_ += file_bytes_[file_++];
  if (file_ == files_.size() || (position.offset == 0 && position.count == 0)) return;
  open_file();
  if (lines_) {
    lines_->seek(position.offset, position.count);
  } else if (text_ != nullptr) {
    text_->seek({position.offset, position.has_seen_separator, position.is_unchanged});
    documents_before_ = position.count;
  } else {
    std::string document;
    while (source_->num_documents() < position.count) {
      check(source_->next(document), ErrorKind::corrupt_file, "'{}' has {} documents, expected at least {}",
            files_[file_].string(), source_->num_documents(), position.count);
    }
    DocumentChunk counted_before;
    take_counts(counted_before);
  }
}

SourcePosition ChunkReader::position() const {
  SourcePosition position;
  position.file = file_;
  if (lines_) {
    position.offset = lines_->offset();
    position.count = lines_->line_number();
  } else if (source_) {
    position.count = documents_before_ + source_->num_documents();
    if (text_ != nullptr) {
      const TextPosition place = text_->position();
      position.offset = place.offset;
      position.has_seen_separator = place.has_seen_separator;
      position.is_unchanged = place.is_unchanged;
    }
  }
  return position;
}

void ChunkReader::skip(DocumentChunk& chunk, std::string place, std::string reason) {
  if (!options_.skips_bad_records) SkippedRecords(false).add(std::move(place), std::move(reason));
  ++chunk.num_skipped;
  if (chunk.skipped.size() < kMaxSkippedPlaces) chunk.skipped.push_back({std::move(place), std::move(reason)});
}

void ChunkReader::take_counts(DocumentChunk& chunk) {
  chunk.num_empty += source_->num_empty() - counted_empty_;
  chunk.num_skipped += source_->num_skipped() - counted_skipped_;
  counted_empty_ = source_->num_empty();
  counted_skipped_ = source_->num_skipped();
  const std::vector<SkippedRecord>& places = source_->skipped();
  for (; counted_places_ < places.size(); ++counted_places_) chunk.skipped.push_back(places[counted_places_]);
}

void ChunkReader::read_lines(DocumentChunk& chunk) {
  std::string_view line;
  chunk.path = files_[file_].string();
  chunk.first_line = lines_->line_number() + 1;
  while (lines_->next(line)) {
    if (lines_->is_too_long()) {
      skip(chunk, line_place(chunk.path, lines_->line_number()),
           fmt::format("longer than {} bytes", options_.max_document_bytes));
    }
    chunk.lines += line;
    chunk.lines += '\n';
    if (chunk.lines.size() >= chunk_bytes_) return;
  }
  close_file();
}

void ChunkReader::read_documents(DocumentChunk& chunk) {
  uint64_t bytes = 0;
  std::string document;
  while (source_->next(document)) {
    bytes += document.size();
    chunk.documents.push_back(std::move(document));
    if (bytes >= chunk_bytes_ || chunk.documents.size() >= kChunkDocuments) {
      take_counts(chunk);
      return;
    }
  }
  take_counts(chunk);
  close_file();
}

bool ChunkReader::next(DocumentChunk& chunk) {
  chunk = {};
  if (file_ == files_.size()) return false;
  try {
    if (!is_open_) open_file();
    if (lines_) {
      read_lines(chunk);
    } else {
      read_documents(chunk);
    }
  } catch (const Error& error) {
    if (!options_.skips_bad_records || error.kind() != ErrorKind::corrupt_file) throw;
    if (source_) take_counts(chunk);
    skip(chunk, files_[file_].string(), fmt::format("the rest of the file is lost: {}", error.what()));
    close_file();
  }
  // A huge line is parsed here, so that its document can be encoded in parts.
  if (chunk.lines.size() >= 2 * chunk_bytes_) parse_lines(chunk, options_);
  chunk.end = position();
  chunk.file_bytes = bytes_before_ + (lines_ ? lines_->file_bytes_read() : source_ ? source_->bytes_read() : 0);
  return true;
}

}  // namespace owlet
