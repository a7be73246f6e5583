// Lines of a file, however its lines end.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "data/sources/byte_stream.hpp"

namespace owlet {

/// Reads a text file line by line; LF, CRLF and lone CR each end one. A UTF-8 byte order mark is dropped at the
/// beginning of the file and nowhere else. Memory: the longest line and a block of 256 KiB. Not thread-safe.
class LineReader {
 public:
  /// Lines of more than `max_line_bytes` bytes are not given out. Throws as open_byte_stream.
  LineReader(const std::filesystem::path& path, uint64_t max_line_bytes);

  /// Puts the next line, without its end, into `line`, valid until the next call; false at the end of the file. A line
  /// that is too long is read over and given as is_too_long() with an empty `line`.
  bool next(std::string_view& line);
  bool is_too_long() const { return is_too_long_; }
  /// Number of the line given out last, from 1.
  uint64_t line_number() const { return line_number_; }
  /// Where the next line begins, in bytes of the unpacked file.
  uint64_t offset() const { return buffer_offset_ + begin_; }
  /// Goes on from an earlier offset() and line_number() of the same file; only directly after construction.
  void seek(uint64_t offset, uint64_t line_number);
  uint64_t file_bytes_read() const { return stream_->file_bytes_read(); }

 private:
  bool read_block();
  void drop_byte_order_mark();
  /// The end of the line that begins at begin_, or npos where it is not in the buffer yet.
  size_t find_line_end();

  std::unique_ptr<ByteStream> stream_;
  uint64_t max_line_bytes_;
  std::string buffer_;
  uint64_t buffer_offset_ = 0;  ///< of buffer_[0] in the unpacked file
  size_t begin_ = 0;
  size_t next_feed_ = 0, next_return_ = 0;  ///< the next LF and CR at or behind begin_, or how far they were looked for
  bool is_feed_known_ = false, is_return_known_ = false;
  bool is_at_end_ = false, is_at_start_ = true, is_too_long_ = false;
  uint64_t line_number_ = 0;
};

}  // namespace owlet
