// The elements of a JSON array in a file, one after the other, as text.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "data/sources/byte_stream.hpp"

namespace owlet {

/// Whether the file's first character that is no white space (behind a byte order mark) is '['.
bool begins_json_array(const std::filesystem::path& file);

/// Cuts the array that fills a file into its elements; brackets outside strings decide where one ends, what is in it is
/// not judged. Memory: the longest element and a block of 256 KiB. Not thread-safe.
class JsonArrayReader {
 public:
  /// Elements of more than `max_row_bytes` bytes are not given out. Throws as open_byte_stream.
  JsonArrayReader(const std::filesystem::path& file, uint64_t max_row_bytes);

  /// Puts the next element into `text`, valid until the next call; false behind the last. One that is too long is read
  /// over and given as is_too_long() with an empty `text`. Throws corrupt_file naming file and byte for a file that is
  /// no array, ends inside it or goes on behind it.
  bool next(std::string_view& text);
  bool is_too_long() const { return is_too_long_; }
  /// Number of the element given out last, from 1.
  uint64_t row_number() const { return row_number_; }
  uint64_t file_bytes_read() const { return stream_->file_bytes_read(); }

 private:
  /// The next byte, or -1 at the end of the file.
  int next_byte();
  int next_visible_byte();
  /// Reads the element that begins with `first` into text_; what ends it is left to be read.
  void read_element(int first);
  [[noreturn]] void fail_at(std::string_view what) const;

  std::string path_;
  std::unique_ptr<ByteStream> stream_;
  uint64_t max_row_bytes_;
  std::string block_, text_;
  size_t position_ = 0;        ///< in block_
  uint64_t block_offset_ = 0;  ///< of block_ in the unpacked file
  bool is_open_ = false, is_at_end_ = false, is_too_long_ = false;
  uint64_t row_number_ = 0;
};

}  // namespace owlet
