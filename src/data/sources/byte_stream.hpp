// Bytes of a file in order, unpacked where its name ends in .gz or .zst.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

namespace owlet {

/// A file read once from its beginning. Memory is bounded: zstd windows over 128 MiB are refused. Not thread-safe.
class ByteStream {
 public:
  virtual ~ByteStream() = default;
  /// Puts up to `count` bytes at `out` and returns how many; 0 only at the end. Throws io, and corrupt_file naming the
  /// file for packed bytes that are damaged or cut off.
  virtual size_t read(char* out, size_t count) = 0;
  /// Passes over bytes, in a plain file without reading them; throws corrupt_file where there are fewer.
  virtual void skip(uint64_t count) = 0;
  /// Bytes read of the file as it lies on the disk.
  virtual uint64_t file_bytes_read() const = 0;
};

/// Whether the name ends in .gz or .zst.
bool is_compressed_name(const std::filesystem::path& path);

/// The extension that tells what is inside, in lower case: ".jsonl" for "a.jsonl.gz" and "B.JSONL", "" for "a.gz".
std::string inner_extension(const std::filesystem::path& path);

/// Opens `path`. Throws not_found, io, or corrupt_file for a .gz or .zst that is none.
std::unique_ptr<ByteStream> open_byte_stream(const std::filesystem::path& path);

}  // namespace owlet
