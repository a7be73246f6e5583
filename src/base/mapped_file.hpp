// Read-only memory-mapped files.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>

namespace owlet {

/// A whole file mapped read-only. Movable, not copyable; the mapping ends with the object. Safe to read from several
/// threads. Throws Error not_found / io, naming the path; an empty file gives an empty span.
class MappedFile {
 public:
  enum class Access { sequential, random };

  MappedFile() = default;
  explicit MappedFile(const std::filesystem::path& path, Access access = Access::sequential);
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const { return {data_, size_}; }
  size_t size() const { return size_; }
  const std::filesystem::path& path() const { return path_; }

  /// Tells the system that [offset, offset + length) is not needed for now, so that long runs over large files keep
  /// a flat resident size.
  void release_pages(size_t offset, size_t length) const;

 private:
  std::filesystem::path path_;
  const std::byte* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace owlet
