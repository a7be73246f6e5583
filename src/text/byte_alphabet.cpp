#include "text/byte_alphabet.hpp"

#include <algorithm>

#include "text/utf8.hpp"

namespace owlet {

namespace {

constexpr int kNumChars = 0x144;  // the last of the 68 moved bytes is spelled U+0143

constexpr bool is_spelled_by_itself(int byte) {
  return (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

constexpr std::array<char32_t, 256> make_chars() {
  std::array<char32_t, 256> chars{};
  char32_t next = 0x100;
  for (int byte = 0; byte < 256; ++byte) {
    chars[static_cast<size_t>(byte)] = is_spelled_by_itself(byte) ? static_cast<char32_t>(byte) : next++;
  }
  return chars;
}

constexpr auto kChars = make_chars();

constexpr std::array<int16_t, kNumChars> make_bytes() {
  std::array<int16_t, kNumChars> bytes{};
  for (auto& byte : bytes) byte = -1;
  for (size_t byte = 0; byte < 256; ++byte) bytes[kChars[byte]] = static_cast<int16_t>(byte);
  return bytes;
}

constexpr auto kBytes = make_bytes();

}  // namespace

char32_t alphabet_char(uint8_t byte) { return kChars[byte]; }

std::array<uint8_t, 256> bytes_in_alphabet_order() {
  std::array<uint8_t, 256> bytes{};
  for (size_t i = 0; i < 256; ++i) bytes[i] = static_cast<uint8_t>(i);
  std::sort(bytes.begin(), bytes.end(), [](uint8_t a, uint8_t b) { return kChars[a] < kChars[b]; });
  return bytes;
}

std::string spell_bytes(std::string_view bytes) {
  std::string spelled;
  spelled.reserve(bytes.size() * 2);
  for (const char byte : bytes) append_utf8(kChars[static_cast<uint8_t>(byte)], spelled);
  return spelled;
}

std::optional<std::string> unspell_bytes(std::string_view spelled) {
  std::string bytes;
  bytes.reserve(spelled.size());
  for (size_t position = 0; position < spelled.size();) {
    const Utf8Char c = decode_utf8(spelled, position);
    if (!c.is_valid || c.code_point >= kNumChars || kBytes[c.code_point] < 0) return std::nullopt;
    bytes.push_back(static_cast<char>(kBytes[c.code_point]));
    position += c.num_bytes;
  }
  return bytes;
}

}  // namespace owlet
