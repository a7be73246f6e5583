#include "base/mapped_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.hpp"

namespace owlet {

MappedFile::MappedFile(const std::filesystem::path& path, Access access) : path_(path) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) {
    fail(errno == ENOENT ? ErrorKind::not_found : ErrorKind::io, "cannot open '{}': {}", path.string(),
         std::strerror(errno));
  }
  struct stat status {};
  const bool is_regular = fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode);
  void* address = nullptr;
  int map_error = 0;
  if (is_regular && status.st_size > 0) {
    size_ = static_cast<size_t>(status.st_size);
    address = mmap(nullptr, size_, PROT_READ, MAP_SHARED, descriptor, 0);
    if (address == MAP_FAILED) map_error = errno;
  }
  close(descriptor);  // the mapping keeps the file
  check(is_regular, ErrorKind::io, "cannot map '{}': it is not a regular file", path.string());
  check(map_error == 0, ErrorKind::io, "cannot map the {} bytes of '{}': {}", size_, path.string(),
        std::strerror(map_error));
  if (size_ == 0) return;
  data_ = static_cast<const std::byte*>(address);
  madvise(address, size_, access == Access::sequential ? MADV_SEQUENTIAL : MADV_RANDOM);  // advice only
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) munmap(const_cast<std::byte*>(data_), size_);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : path_(std::move(other.path_)),
      data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, size_t{0})) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

void MappedFile::release_pages(size_t offset, size_t length) const {
  if (data_ == nullptr || offset >= size_) return;
  const size_t page_bytes = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const size_t end = offset + std::min(length, size_ - offset);
  const size_t begin = offset / page_bytes * page_bytes;  // a page released too much is only read again
  if (end > begin) madvise(const_cast<std::byte*>(data_) + begin, end - begin, MADV_DONTNEED);
}

}  // namespace owlet
