#include "data/sources/text_file.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace owlet {
namespace fs = std::filesystem;
namespace {

constexpr size_t kBlockBytes = size_t{1} << 20;
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
constexpr std::string_view kWhiteSpace = " \t\n\v\f\r";

/// Appends `block` with CRLF and lone CR as LF. `pending` carries a CR at the end of a block over to the next.
void append_normalised(std::string_view block, bool& pending, std::string& text) {
  if (pending && !block.empty()) {
    text.push_back('\n');
    if (block.front() == '\n') block.remove_prefix(1);
    pending = false;
  }
  while (!block.empty()) {
    const size_t found = block.find('\r');
    text.append(block.substr(0, found));
    if (found == std::string_view::npos) return;
    block.remove_prefix(found + 1);
    pending = block.empty();
    if (pending) return;
    text.push_back('\n');
    if (block.front() == '\n') block.remove_prefix(1);
  }
}

void strip_line_ends(std::string& text, bool at_front, bool at_back) {
  if (at_back) text.erase(text.find_last_not_of('\n') + 1);
  if (at_front) text.erase(0, std::min(text.find_first_not_of('\n'), text.size()));
}

bool is_blank(std::string_view text) { return text.find_first_not_of(kWhiteSpace) == std::string_view::npos; }

}  // namespace

TextFileSource::TextFileSource(const std::vector<fs::path>& files, std::string separator, uint64_t max_document_bytes)
    : separator_(std::move(separator)), max_document_bytes_(max_document_bytes) {
  check(!files.empty(), ErrorKind::invalid_argument, "no text file given");
  check(!separator_.empty(), ErrorKind::invalid_argument,
        "the document separator is empty, expected a text, '{}' or '{}'", kBlankLines, kNoSeparator);
  parting_ = separator_ == kBlankLines    ? Parting::blank_lines
             : separator_ == kNoSeparator ? Parting::whole_file
                                          : Parting::separator;
  for (const fs::path& path : files) {
    std::error_code error;
    const fs::file_status status = fs::status(path, error);
    check(fs::exists(status), ErrorKind::not_found, "text file '{}' does not exist", path.string());
    check(!fs::is_directory(status), ErrorKind::invalid_argument, "'{}' is a folder, expected a text file",
          path.string());
    const uint64_t bytes = fs::is_regular_file(status) ? fs::file_size(path, error) : 0;
    files_.push_back({path.string(), error ? 0 : bytes});
  }
}

const std::vector<SkippedRecord>& TextFileSource::skipped() const {
  static const std::vector<SkippedRecord> none;
  return none;
}

TextPosition TextFileSource::position() const { return {text_offset_ + begin_, has_seen_separator_, is_unchanged_}; }

void TextFileSource::seek(const TextPosition& position) {
  rewind();
  if (position.offset == 0) return;
  if (position.is_unchanged) {
    // What was dropped at the beginning of the file counts in the offset.
    stream_ = open_byte_stream(files_[0].path);
    stream_->skip(position.offset);
    is_open_ = true;
    is_at_end_ = is_carriage_return_pending_ = false;
    is_unchanged_ = true;
    text_.clear();
    text_offset_ = position.offset;
    begin_ = searched_ = 0;
  } else {
    open_file();
    while (text_offset_ + text_.size() < position.offset) {
      begin_ = searched_ = text_.size();
      check(read_block(), ErrorKind::corrupt_file, "'{}' ends before byte {} of its text", files_[0].path,
            position.offset);
    }
    begin_ = searched_ = position.offset - text_offset_;
  }
  has_seen_separator_ = position.has_seen_separator;
}

void TextFileSource::rewind() {
  file_index_ = 0;
  is_open_ = false;
  num_documents_ = num_empty_ = 0;
}

void TextFileSource::open_file() {
  stream_ = open_byte_stream(files_[file_index_].path);
  is_open_ = true;
  is_at_end_ = is_carriage_return_pending_ = has_seen_separator_ = false;
  is_unchanged_ = true;
  text_.clear();
  text_offset_ = 0;
  begin_ = searched_ = 0;
  while (text_.size() < kByteOrderMark.size() && read_block()) {
  }
  if (text_.starts_with(kByteOrderMark)) begin_ = searched_ = kByteOrderMark.size();
}

bool TextFileSource::read_block() {
  if (is_at_end_) return false;
  if (text_.size() - begin_ > max_document_bytes_) {
    throw Error(ErrorKind::unsupported,
                fmt::format("a document of '{}' is longer than {} bytes (separator '{}' not found in it)",
                            files_[file_index_].path, max_document_bytes_, separator_),
                "more --memory allows longer documents, --separator parts the text elsewhere");
  }
  if (begin_ > 0) {
    text_.erase(0, begin_);
    text_offset_ += begin_;
    searched_ -= begin_;
    begin_ = 0;
  }
  block_.resize(kBlockBytes);
  const size_t got = stream_->read(block_.data(), block_.size());
  const std::string_view block = std::string_view(block_).substr(0, got);
  is_unchanged_ = is_unchanged_ && block.find('\r') == std::string_view::npos;
  append_normalised(block, is_carriage_return_pending_, text_);
  is_at_end_ = got == 0;
  if (is_at_end_ && is_carriage_return_pending_) text_.push_back('\n');
  return true;
}

bool TextFileSource::next_separated_part(std::string& part) {
  while (true) {
    const size_t found = parting_ == Parting::whole_file ? std::string::npos : text_.find(separator_, searched_);
    if (found != std::string::npos) {
      part.assign(text_, begin_, found - begin_);
      strip_line_ends(part, has_seen_separator_, true);
      has_seen_separator_ = true;
      begin_ = searched_ = found + separator_.size();
      return true;
    }
    // A separator may have begun in the last bytes of this block.
    const size_t tail = std::min(text_.size() - begin_, separator_.size() - 1);
    searched_ = std::max(searched_, text_.size() - tail);
    if (!read_block()) break;
  }
  part.assign(text_, begin_);
  if (has_seen_separator_) strip_line_ends(part, true, true);
  begin_ = searched_ = text_.size();
  return false;
}

bool TextFileSource::next_paragraph(std::string& part) {
  part.clear();
  while (true) {
    const size_t line_end = text_.find('\n', searched_);
    if (line_end == std::string::npos) {
      searched_ = text_.size();
      if (read_block()) continue;
    }
    const size_t next_begin = line_end == std::string::npos ? text_.size() : line_end + 1;
    const bool is_file_end = line_end == std::string::npos;
    const std::string_view line(text_.data() + begin_, next_begin - begin_);
    const bool is_blank_line = is_blank(line);
    if (!is_blank_line) part.append(line);
    begin_ = searched_ = next_begin;
    check(part.size() <= max_document_bytes_, ErrorKind::unsupported,
          "a document of '{}' is longer than {} bytes (no blank line in it)", files_[file_index_].path,
          max_document_bytes_);
    if (is_file_end || (is_blank_line && !part.empty())) {
      strip_line_ends(part, false, true);
      return !is_file_end;
    }
  }
}

bool TextFileSource::next_part(std::string& part, bool& is_last) {
  if (!is_open_) {
    if (file_index_ == files_.size()) return false;
    open_file();
  }
  is_last = !(parting_ == Parting::blank_lines ? next_paragraph(part) : next_separated_part(part));
  if (is_last) {
    is_open_ = false;
    ++file_index_;
  }
  return true;
}

bool TextFileSource::next(std::string& document) {
  bool is_last = false;
  while (next_part(document, is_last)) {
    if (!is_blank(document)) {
      ++num_documents_;
      return true;
    }
    // The end of a file after its last separator or blank line is no document; a file without any text is one.
    const bool is_remainder = is_last && (has_seen_separator_ || parting_ == Parting::blank_lines);
    if (!is_remainder) ++num_empty_;
  }
  return false;
}

}  // namespace owlet
