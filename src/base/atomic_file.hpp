// Files and folders that appear whole or not at all: written beside their place, flushed, renamed, folder flushed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace owlet {

/// Writes `PATH.partial-<pid>`, and on commit() flushes it to disk (fsync), renames it to PATH and flushes the folder.
/// Without commit() the partial file is removed and PATH stays what it was. Throws Error io with the system's
/// reason (a full disk names the path and the bytes wanted); writes are gathered, so the error may come with a later
/// write or with commit(). While the object lives it holds a lock (flock) on the partial file, by which
/// remove_partial_files knows it is in use. Not thread-safe.
class AtomicFile {
 public:
  explicit AtomicFile(std::filesystem::path path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::span<const std::byte> bytes);
  void write(std::string_view text);
  /// Overwrites bytes already written (throws Error invalid_argument past them), at an absolute offset (headers whose
  /// content is known last).
  void write_at(uint64_t offset, std::span<const std::byte> bytes);
  uint64_t position() const { return position_; }
  void commit();

 private:
  void flush();
  void write_all(std::span<const std::byte> bytes, uint64_t offset);

  std::filesystem::path path_, partial_path_;
  int descriptor_ = -1;
  uint64_t position_ = 0;           // of the next write, gathered bytes included
  std::vector<std::byte> pending_;  // the last pending_.size() bytes before position_
  bool committed_ = false;
};

/// Writes a whole text file atomically.
void write_file_atomically(const std::filesystem::path& path, std::string_view text);

/// Reads a whole file as bytes in a string. Throws Error not_found / io; refuses files over `limit_bytes`.
std::string read_file(const std::filesystem::path& path, uint64_t limit_bytes = uint64_t{1} << 32);

/// A folder built under `PATH.partial-<pid>` and moved to PATH by commit() after flushing every file in it. If PATH
/// exists, commit() exchanges the two in one step and removes the old one afterwards. Where the file system cannot
/// exchange, the old one waits as `PATH.previous-<pid>` for an instant; remove_partial_files puts it back if a process
/// died there. Without commit() the partial folder is removed. Throws Error io. Not thread-safe.
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
  int descriptor_ = -1;
  bool committed_ = false;
};

/// Moves the folder `from` to `to`, swapping an existing `to` out and removing it (see AtomicFolder). With
/// `try_exchange` false it goes the way of file systems without an exchange.
void replace_folder(const std::filesystem::path& from, const std::filesystem::path& to, bool try_exchange = true);

/// Removes `NAME.partial-*` files and folders that a killed process left in `folder`, and puts `NAME.previous-*` back
/// as NAME where NAME is missing. What a living AtomicFile or AtomicFolder holds stays. Returns how many were removed
/// or put back; a folder that does not exist has none.
int remove_partial_files(const std::filesystem::path& folder);

/// Bytes free for this user on the file system that holds `path` (or its nearest existing parent).
uint64_t free_disk_bytes(const std::filesystem::path& path);

}  // namespace owlet
