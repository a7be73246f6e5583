#include "data/sources/line_reader.hpp"

#include <algorithm>

namespace owlet {
namespace {

constexpr size_t kBlockBytes = size_t{1} << 18;
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
constexpr size_t kNone = std::string::npos;

/// Moves `position` to the next `wanted` at or behind it, or to the end; returns whether there is one.
bool advance_to(char wanted, const std::string& buffer, size_t& position) {
  const size_t found = buffer.find(wanted, position);
  position = std::min(found, buffer.size());
  return found != kNone;
}

}  // namespace

LineReader::LineReader(const std::filesystem::path& path, uint64_t max_line_bytes)
    : stream_(open_byte_stream(path)), max_line_bytes_(max_line_bytes) {}

void LineReader::seek(uint64_t offset, uint64_t line_number) {
  stream_->skip(offset);
  buffer_offset_ = offset;
  line_number_ = line_number;
  is_at_start_ = offset == 0;
}

bool LineReader::read_block() {
  if (is_at_end_) return false;
  buffer_.erase(0, begin_);
  buffer_offset_ += begin_;
  next_feed_ -= begin_;
  next_return_ -= begin_;
  begin_ = 0;
  const size_t filled = buffer_.size();
  // A long line is read in blocks that grow with it, so that moving it about stays linear.
  buffer_.resize(filled + std::max(kBlockBytes, filled / 2));
  const size_t got = stream_->read(buffer_.data() + filled, buffer_.size() - filled);
  buffer_.resize(filled + got);
  is_at_end_ = got == 0;
  return !is_at_end_;
}

void LineReader::drop_byte_order_mark() {
  is_at_start_ = false;
  while (buffer_.size() < kByteOrderMark.size() && read_block()) {
  }
  if (buffer_.starts_with(kByteOrderMark)) begin_ = next_feed_ = next_return_ = kByteOrderMark.size();
}

size_t LineReader::find_line_end() {
  if (!is_feed_known_ || next_feed_ < begin_) {
    next_feed_ = std::max(next_feed_, begin_);
    is_feed_known_ = advance_to('\n', buffer_, next_feed_);
  }
  if (!is_return_known_ || next_return_ < begin_) {
    next_return_ = std::max(next_return_, begin_);
    is_return_known_ = advance_to('\r', buffer_, next_return_);
  }
  if (!is_feed_known_ && !is_return_known_) return kNone;
  const size_t end = std::min(is_feed_known_ ? next_feed_ : kNone, is_return_known_ ? next_return_ : kNone);
  // Whether a CR at the end of the buffer is half of a CRLF shows with the next block.
  if (buffer_[end] == '\r' && end + 1 == buffer_.size() && !is_at_end_) return kNone;
  return end;
}

bool LineReader::next(std::string_view& line) {
  if (is_at_start_) drop_byte_order_mark();
  is_too_long_ = false;
  size_t end = find_line_end();
  while (end == kNone) {
    if (buffer_.size() - begin_ > max_line_bytes_) {
      is_too_long_ = true;
      // All but the last byte, which may be the CR of a CRLF.
      begin_ = next_feed_ = next_return_ = buffer_.size() - 1;
    }
    if (!read_block()) {
      end = find_line_end();
      if (end == kNone) end = buffer_.size();
      if (begin_ == buffer_.size() && !is_too_long_) return false;
      break;
    }
    end = find_line_end();
  }
  is_too_long_ = is_too_long_ || end - begin_ > max_line_bytes_;
  line = is_too_long_ ? std::string_view() : std::string_view(buffer_).substr(begin_, end - begin_);
  const bool is_pair = end + 1 < buffer_.size() && buffer_[end] == '\r' && buffer_[end + 1] == '\n';
  begin_ = std::min(end + (is_pair ? 2 : 1), buffer_.size());
  ++line_number_;
  return true;
}

}  // namespace owlet
