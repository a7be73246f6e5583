// For tests: the files of tests/golden/formats/parquet.json, written to a folder.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "base/json.hpp"

namespace owlet {

inline std::string decode_base64(std::string_view text) {
  constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  uint32_t bits = 0;
  int num_bits = 0;
  for (const char c : text) {
    const size_t digit = kAlphabet.find(c);
    if (digit == std::string_view::npos) break;
    bits = (bits << 6) | static_cast<uint32_t>(digit);
    num_bits += 6;
    if (num_bits >= 8) {
      num_bits -= 8;
      bytes.push_back(static_cast<char>((bits >> num_bits) & 0xFF));
    }
  }
  return bytes;
}

/// The golden files with their rows: [{name, base64, rows}].
inline Json parquet_goldens() {
  return read_json(std::filesystem::path(OWLET_SOURCE_DIR) / "tests/golden/formats/parquet.json")["files"];
}

/// The bytes of the golden file of this name.
inline std::string parquet_golden_bytes(const std::string& name) {
  for (const Json& golden : parquet_goldens()) {
    if (golden["name"] == name) return decode_base64(golden["base64"].get<std::string>());
  }
  fail(ErrorKind::internal, "no golden file '{}'", name);
}

inline std::filesystem::path write_bytes(const std::filesystem::path& path, std::string_view bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  return path;
}

}  // namespace owlet
