// Documents out of text files, plain or packed with gzip or zstd.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "data/document_source.hpp"
#include "data/sources/byte_stream.hpp"

namespace owlet {

/// Separator of TinyStories, GPT-2's corpora and our own.
inline constexpr std::string_view kDefaultSeparator = "<|endoftext|>";
/// Separator names with a meaning of their own: paragraphs parted by blank lines; each file is one document.
inline constexpr std::string_view kBlankLines = "blank-lines";
inline constexpr std::string_view kNoSeparator = "none";

/// A place between two documents of one text file.
struct TextPosition {
  uint64_t offset = 0;  ///< of the unpacked text, after line ends became LF
  bool has_seen_separator = false;
  bool is_unchanged = true;  ///< no line end changed before: the offset holds for the unpacked file as well
};

/// Streams the documents of text files, one file after the other; memory: one document and a block of 1 MiB.
///
/// The end of a file ends a document. A UTF-8 byte order mark at the start of a file is dropped. CRLF and lone CR
/// become LF. Line ends beside a separator belong to it; a file in which the separator never occurs is taken whole,
/// line ends included. Documents of white space only count as empty and are passed over; what follows the last
/// separator of a file counts only if it is not empty. Bytes that are no UTF-8 pass through.
class TextFileSource final : public DocumentSource {
 public:
  /// Throws not_found for a missing file, invalid_argument for no files, a folder, or an empty separator.
  explicit TextFileSource(const std::vector<std::filesystem::path>& files,
                          std::string separator = std::string(kDefaultSeparator),
                          uint64_t max_document_bytes = uint64_t{1} << 30);
  /// Throws io, and unsupported for a document longer than max_document_bytes (naming file and place).
  bool next(std::string& document) override;
  void rewind() override;
  uint64_t num_documents() const override { return num_documents_; }
  uint64_t num_empty() const override { return num_empty_; }
  uint64_t num_skipped() const override { return 0; }
  const std::vector<SkippedRecord>& skipped() const override;
  /// Of the current file only, or of the last one.
  uint64_t bytes_read() const override { return stream_ ? stream_->file_bytes_read() : 0; }
  const std::vector<SourceFile>& files() const override { return files_; }
  std::string separator() const override { return separator_; }
  /// Of a source of one file: the place behind the document handed out last, and going on from such a place.
  TextPosition position() const;
  void seek(const TextPosition& position);

 private:
  enum class Parting { separator, blank_lines, whole_file };

  /// Next part of the current file, empty or not; false when no file is left. `is_last` of its file.
  bool next_part(std::string& part, bool& is_last);
  bool next_separated_part(std::string& part);
  bool next_paragraph(std::string& part);
  void open_file();
  bool read_block();

  std::vector<SourceFile> files_;
  std::string separator_;
  Parting parting_;
  uint64_t max_document_bytes_;

  size_t file_index_ = 0;
  std::unique_ptr<ByteStream> stream_;
  bool is_open_ = false, is_at_end_ = false, is_carriage_return_pending_ = false, has_seen_separator_ = false;
  bool is_unchanged_ = true;
  uint64_t text_offset_ = 0;  ///< of text_[0] in the normalised text of the file
  std::string block_;
  std::string text_;  ///< normalised text read and not yet handed out, from begin_ on
  size_t begin_ = 0, searched_ = 0;
  uint64_t num_documents_ = 0, num_empty_ = 0;
};

}  // namespace owlet
