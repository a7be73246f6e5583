// For tests: the files of tests/golden/formats/parquet.json, written to a folder.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "base/json.hpp"
#include "tests/support/base64.hpp"

namespace owlet {

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
