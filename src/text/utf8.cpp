#include "text/utf8.hpp"

namespace owlet {

namespace {

constexpr char32_t kReplacement = 0xFFFD;
constexpr std::string_view kReplacementUtf8 = "\xEF\xBF\xBD";

uint8_t byte_at(std::string_view text, size_t position) { return static_cast<uint8_t>(text[position]); }

// Length and the allowed range of the second byte for each first byte (Unicode 15, table 3-7). Length 0: never a first
// byte.
struct FirstByte {
  uint8_t length, second_low, second_high;
};

FirstByte first_byte(uint8_t byte) {
  if (byte < 0x80) return {1, 0, 0};
  if (byte < 0xC2) return {0, 0, 0};
  if (byte < 0xE0) return {2, 0x80, 0xBF};
  if (byte == 0xE0) return {3, 0xA0, 0xBF};
  if (byte == 0xED) return {3, 0x80, 0x9F};
  if (byte < 0xF0) return {3, 0x80, 0xBF};
  if (byte == 0xF0) return {4, 0x90, 0xBF};
  if (byte < 0xF4) return {4, 0x80, 0xBF};
  if (byte == 0xF4) return {4, 0x80, 0x8F};
  return {0, 0, 0};
}

// Appends `text` up to the end or, with `keep_tail`, up to an incomplete last character; returns how far it came.
size_t append_valid(std::string_view text, bool keep_tail, std::string& out) {
  size_t position = 0;
  while (position < text.size()) {
    const Utf8Char c = decode_utf8(text, position);
    if (c.is_valid) {
      out.append(text, position, c.num_bytes);
    } else if (c.is_cut_short && keep_tail) {
      return position;
    } else {
      out.append(kReplacementUtf8);
    }
    position += c.num_bytes;
  }
  return position;
}

}  // namespace

Utf8Char decode_utf8(std::string_view text, size_t position) {
  const uint8_t first = byte_at(text, position);
  if (first < 0x80) return {first, 1, true, false};
  const FirstByte form = first_byte(first);
  if (form.length == 0) return {kReplacement, 1, false, false};
  char32_t code_point = first & (0x7Fu >> form.length);
  for (uint8_t i = 1; i < form.length; ++i) {
    if (position + i >= text.size()) return {kReplacement, i, false, true};
    const uint8_t byte = byte_at(text, position + i);
    const uint8_t low = i == 1 ? form.second_low : 0x80, high = i == 1 ? form.second_high : 0xBF;
    if (byte < low || byte > high) return {kReplacement, i, false, false};
    code_point = code_point << 6 | (byte & 0x3Fu);
  }
  return {code_point, form.length, true, false};
}

void append_utf8(char32_t code_point, std::string& text) {
  if (code_point > 0x10FFFF || (code_point >= 0xD800 && code_point <= 0xDFFF)) code_point = kReplacement;
  const auto put = [&](char32_t bits) { text.push_back(static_cast<char>(bits)); };
  if (code_point < 0x80) {
    put(code_point);
  } else if (code_point < 0x800) {
    put(0xC0 | code_point >> 6);
    put(0x80 | (code_point & 0x3F));
  } else if (code_point < 0x10000) {
    put(0xE0 | code_point >> 12);
    put(0x80 | (code_point >> 6 & 0x3F));
    put(0x80 | (code_point & 0x3F));
  } else {
    put(0xF0 | code_point >> 18);
    put(0x80 | (code_point >> 12 & 0x3F));
    put(0x80 | (code_point >> 6 & 0x3F));
    put(0x80 | (code_point & 0x3F));
  }
}

bool is_valid_utf8(std::string_view text) {
  for (size_t position = 0; position < text.size();) {
    const Utf8Char c = decode_utf8(text, position);
    if (!c.is_valid) return false;
    position += c.num_bytes;
  }
  return true;
}

std::string replace_invalid_utf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  append_valid(text, false, out);
  return out;
}

std::string Utf8Stream::push(std::string_view bytes) {
  pending_.append(bytes);
  std::string out;
  out.reserve(pending_.size());
  pending_.erase(0, append_valid(pending_, true, out));
  return out;
}

std::string Utf8Stream::flush() {
  std::string out = replace_invalid_utf8(pending_);
  pending_.clear();
  return out;
}

}  // namespace owlet
