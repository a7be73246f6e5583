#include "data/sources/json_array_reader.hpp"

#include "base/error.hpp"

namespace owlet {
namespace {

constexpr size_t kBlockBytes = size_t{1} << 18;

bool is_json_space(int byte) { return byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r'; }

}  // namespace

bool begins_json_array(const std::filesystem::path& file) {
  const std::unique_ptr<ByteStream> stream = open_byte_stream(file);
  std::string block(4096, '\0');
  bool is_at_start = true;
  while (true) {
    block.resize(4096);
    block.resize(stream->read(block.data(), block.size()));
    if (block.empty()) return false;
    const std::string_view text =
        is_at_start && block.starts_with("\xEF\xBB\xBF") ? std::string_view(block).substr(3) : std::string_view(block);
    is_at_start = false;
    for (const char c : text) {
      if (!is_json_space(c)) return c == '[';
    }
  }
}

JsonArrayReader::JsonArrayReader(const std::filesystem::path& file, uint64_t max_row_bytes)
    : path_(file.string()), stream_(open_byte_stream(file)), max_row_bytes_(max_row_bytes) {}

int JsonArrayReader::next_byte() {
  if (position_ == block_.size()) {
    block_offset_ += block_.size();
    block_.resize(kBlockBytes);
    block_.resize(stream_->read(block_.data(), block_.size()));
    position_ = 0;
    if (block_.empty()) return -1;
  }
  return static_cast<unsigned char>(block_[position_++]);
}

int JsonArrayReader::next_visible_byte() {
  int byte = next_byte();
  while (is_json_space(byte)) byte = next_byte();
  return byte;
}

void JsonArrayReader::fail_at(std::string_view what) const {
  fail(ErrorKind::corrupt_file, "'{}', byte {}: {} (row {})", path_, block_offset_ + position_, what, row_number_);
}

void JsonArrayReader::read_element(int first) {
  text_.clear();
  is_too_long_ = false;
  ++row_number_;
  uint64_t depth = 0;
  bool is_in_string = false, is_escaped = false;
  for (int byte = first;; byte = next_byte()) {
    if (byte < 0) fail_at("the file ends inside a row");
    if (!is_in_string && depth == 0 && (byte == ',' || byte == ']')) {
      --position_;
      return;
    }
    if (text_.size() < max_row_bytes_) {
      text_ += static_cast<char>(byte);
    } else {
      is_too_long_ = true;
    }
    if (is_in_string) {
      is_in_string = is_escaped || byte != '"';
      is_escaped = !is_escaped && byte == '\\';
      continue;
    }
    is_in_string = byte == '"';
    if (byte == '{' || byte == '[') ++depth;
    if ((byte == '}' || byte == ']') && depth > 0) --depth;
  }
}

bool JsonArrayReader::next(std::string_view& text) {
  if (is_at_end_) return false;
  int byte = next_visible_byte();
  if (!is_open_) {
    if (byte == 0xEF && next_byte() == 0xBB && next_byte() == 0xBF) byte = next_visible_byte();
    if (byte != '[') fail_at("expected '['");
    is_open_ = true;
    byte = next_visible_byte();
    is_at_end_ = byte == ']';
  } else {
    if (byte != ',' && byte != ']') fail_at(byte < 0 ? "the file ends inside the array" : "expected ',' or ']'");
    is_at_end_ = byte == ']';
    if (!is_at_end_) byte = next_visible_byte();
  }
  if (is_at_end_) {
    if (next_visible_byte() >= 0) fail_at("more follows behind the end of the array");
    return false;
  }
  read_element(byte);
  if (is_too_long_) text_.clear();
  text = text_;
  return true;
}

}  // namespace owlet
