// The bytes of a fuzzer as a file: the parsers read files by name.
#pragma once

#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <string>

namespace owlet {

/// Writes `bytes` to one file of this process, in memory where the system has /dev/shm, and returns its path. The next
/// call replaces it.
inline std::filesystem::path fuzz_file(const uint8_t* bytes, size_t count, const std::string& extension = "") {
  std::error_code error;
  const bool has_memory = std::filesystem::is_directory("/dev/shm", error);
  const auto folder = has_memory ? std::filesystem::path("/dev/shm") : std::filesystem::temp_directory_path();
  const auto path = folder / ("owlet-fuzz-" + std::to_string(getpid()) + extension);
  std::FILE* file = std::fopen(path.c_str(), "wb");
  if (file == nullptr) std::abort();
  if (count > 0 && std::fwrite(bytes, 1, count, file) != count) std::abort();
  std::fclose(file);
  return path;
}

}  // namespace owlet
