// Files and folders that appear whole or not at all: written beside their place, flushed, renamed, folder flushed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace owlet {

/// Writes `PATH.partial-<pid>`, and on commit() flushes it to disk (fsync), renames it to PATH and flushes the folder.
/// Without commit() the partial file is removed and PATH stays what it was. Throws Error io with the system's
/// reason (a full disk names the path and the bytes wanted). Not thread-safe.
class AtomicFile {
 public:
  explicit AtomicFile(std::filesystem::path path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::span<const std::byte> bytes);
  void write(std::string_view text);
  /// Overwrites bytes already written, at an absolute offset (headers whose content is known last).
  void write_at(uint64_t offset, std::span<const std::byte> bytes);
  uint64_t position() const { return position_; }
  void commit();

 private:
  std::filesystem::path path_, partial_path_;
  int descriptor_ = -1;
  uint64_t position_ = 0;
  bool committed_ = false;
};

/// Writes a whole text file atomically.
void write_file_atomically(const std::filesystem::path& path, std::string_view text);

/// Reads a whole file as bytes in a string. Throws Error not_found / io; refuses files over `limit_bytes`.
std::string read_file(const std::filesystem::path& path, uint64_t limit_bytes = uint64_t{1} << 32);

/// A folder built under `PATH.partial-<pid>` and moved to PATH by commit() after flushing every file in it. If PATH exists,
/// commit() swaps it out and removes it afterwards. Without commit() the partial folder is removed.
class AtomicFolder {
 public:
  explicit AtomicFolder(std::filesystem::path path);
  ~AtomicFolder();
  AtomicFolder(const AtomicFolder&) = delete;
  AtomicFolder& operator=(const AtomicFolder&) = delete;
  /// Where to write the folder's files.
  const std::filesystem::path& working_path() const { return partial_path_; }
  void commit();

 private:
  std::filesystem::path path_, partial_path_;
  bool committed_ = false;
};

/// Removes `NAME.partial-*` files and folders that a killed process left in `folder`. Returns how many were removed.
int remove_partial_files(const std::filesystem::path& folder);

/// Bytes free for this user on the file system that holds `path` (or its nearest existing parent).
uint64_t free_disk_bytes(const std::filesystem::path& path);

}  // namespace owlet
