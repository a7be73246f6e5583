#include "base/atomic_file.hpp"

#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.hpp"

namespace owlet {

namespace {

namespace fs = std::filesystem;

constexpr size_t kPendingBytes = size_t{1} << 20;
constexpr std::string_view kPartialMark = ".partial-", kPreviousMark = ".previous-";

[[noreturn]] void fail_with_errno(std::string_view what, const fs::path& path) {
  const int error = errno;
  fail(error == ENOENT ? ErrorKind::not_found : ErrorKind::io, "cannot {} '{}': {}", what, path.string(),
       std::strerror(error));
}

/// A descriptor that closes itself.
class Descriptor {
 public:
  Descriptor(const fs::path& path, int flags) : value_(open(path.c_str(), flags | O_CLOEXEC)) {}
  ~Descriptor() {
    if (value_ >= 0) close(value_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return value_; }

 private:
  int value_;
};

/// Flushes one file or folder to disk. Some file systems cannot flush folders (EINVAL): they order renames themselves.
void flush_to_disk(const fs::path& path, bool is_folder) {
  const Descriptor descriptor(path, O_RDONLY | O_NOFOLLOW | (is_folder ? O_DIRECTORY : 0));
  if (descriptor.get() < 0) fail_with_errno("open for flushing", path);
  if (fsync(descriptor.get()) != 0 && !(is_folder && errno == EINVAL)) fail_with_errno("flush to disk", path);
}

fs::path parent_of(const fs::path& path) { return path.has_parent_path() ? path.parent_path() : fs::path("."); }

/// `path` without a trailing slash, so that names can be appended to it.
fs::path without_trailing_slash(fs::path path) { return path.has_filename() ? path : path.parent_path(); }

fs::path marked_path(const fs::path& path, std::string_view mark) {
  return fs::path(path).concat(mark).concat(std::to_string(getpid()));
}

/// Flushes every regular file and folder below and including `folder`.
void flush_tree(const fs::path& folder) {
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.is_symlink()) continue;
    if (entry.is_directory()) flush_tree(entry.path());
    if (entry.is_regular_file()) flush_to_disk(entry.path(), false);
  }
  flush_to_disk(folder, true);
}

/// The name before `mark` in a name `NAME<mark><digits>`; empty where `name` has another form.
std::string name_before_mark(const std::string& name, std::string_view mark) {
  const size_t at = name.rfind(mark);
  if (at == std::string::npos) return {};
  const std::string_view digits = std::string_view(name).substr(at + mark.size());
  const bool is_number = !digits.empty() && digits.find_first_not_of("0123456789") == std::string_view::npos;
  return is_number ? name.substr(0, at) : std::string();
}

/// True if no living object holds the lock on `path`. Links cannot be locked and live for one rename only: one that is
/// met here was left by a killed process (who marks checkpoints holds the run's lock).
bool is_abandoned(const fs::path& path) {
  if (fs::is_symlink(fs::symlink_status(path))) return true;
  const Descriptor descriptor(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  return descriptor.get() >= 0 && flock(descriptor.get(), LOCK_EX | LOCK_NB) == 0;
}

}  // namespace

AtomicFile::AtomicFile(fs::path path) : path_(std::move(path)) {
  partial_path_ = marked_path(path_, kPartialMark);
  descriptor_ = open(partial_path_.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0666);
  if (descriptor_ < 0) fail_with_errno("create", partial_path_);
  flock(descriptor_, LOCK_EX | LOCK_NB);  // only a mark; file systems without locks do without
}

AtomicFile::~AtomicFile() {
  if (descriptor_ >= 0) close(descriptor_);
  if (!committed_) unlink(partial_path_.c_str());
}

void AtomicFile::write_all(std::span<const std::byte> bytes, uint64_t offset) {
  while (!bytes.empty()) {
    const ssize_t written = pwrite(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) {
      const int error = written < 0 ? errno : ENOSPC;
      throw Error(ErrorKind::io,
                  fmt::format("cannot write {} bytes at offset {} of '{}': {}", bytes.size(), offset, path_.string(),
                              std::strerror(error)),
                  error == ENOSPC || error == EDQUOT ? "free some space on that disk or choose another folder" : "");
    }
    bytes = bytes.subspan(static_cast<size_t>(written));
    offset += static_cast<uint64_t>(written);
  }
}

void AtomicFile::flush() {
  write_all(pending_, position_ - pending_.size());
  pending_.clear();
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  if (pending_.size() + bytes.size() > kPendingBytes) flush();
  if (bytes.size() > kPendingBytes) {
    write_all(bytes, position_);
  } else {
    pending_.insert(pending_.end(), bytes.begin(), bytes.end());
  }
  position_ += bytes.size();
}

void AtomicFile::write(std::string_view text) { write(std::as_bytes(std::span(text))); }

void AtomicFile::write_at(uint64_t offset, std::span<const std::byte> bytes) {
  check(offset <= position_ && bytes.size() <= position_ - offset, ErrorKind::invalid_argument,
        "{} bytes at offset {} of '{}' are past the {} bytes written", bytes.size(), offset, path_.string(), position_);
  flush();
  write_all(bytes, offset);
}

void AtomicFile::commit() {
  check(!committed_, ErrorKind::invalid_argument, "'{}' is committed twice", path_.string());
  flush();
  if (fsync(descriptor_) != 0) fail_with_errno("flush to disk", partial_path_);
  if (rename(partial_path_.c_str(), path_.c_str()) != 0) fail_with_errno("rename the finished file to", path_);
  committed_ = true;
  close(std::exchange(descriptor_, -1));
  flush_to_disk(parent_of(path_), true);
}

void write_file_atomically(const fs::path& path, std::string_view text) {
  AtomicFile file(path);
  file.write(text);
  file.commit();
}

std::string read_file(const fs::path& path, uint64_t limit_bytes) {
  const Descriptor descriptor(path, O_RDONLY);
  if (descriptor.get() < 0) fail_with_errno("open", path);
  struct stat status {};
  if (fstat(descriptor.get(), &status) != 0) fail_with_errno("read", path);
  check(!S_ISDIR(status.st_mode), ErrorKind::io, "cannot read '{}': it is a folder", path.string());
  std::string text;
  const uint64_t announced_bytes = S_ISREG(status.st_mode) ? static_cast<uint64_t>(status.st_size) : 0;
  size_t filled = 0;
  // The size announced is a guess only: files under /proc say 0, and a file may grow while it is read.
  uint64_t wanted = std::min(announced_bytes, limit_bytes) + 1;
  while (true) {
    text.resize(wanted);
    const ssize_t got = read(descriptor.get(), text.data() + filled, text.size() - filled);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail_with_errno("read", path);
    if (got == 0) break;
    filled += static_cast<size_t>(got);
    check(filled <= limit_bytes, ErrorKind::io, "'{}' has {} bytes or more, at most {} are read", path.string(),
          std::max<uint64_t>(filled, announced_bytes), limit_bytes);
    if (filled == text.size()) wanted = filled + std::max<size_t>(filled / 2, 65536);
  }
  text.resize(filled);
  return text;
}

AtomicFolder::AtomicFolder(fs::path path) : path_(without_trailing_slash(std::move(path))) {
  partial_path_ = marked_path(path_, kPartialMark);
  std::error_code ignored;
  fs::remove_all(partial_path_, ignored);  // left by a process that had this number before
  if (mkdir(partial_path_.c_str(), 0777) != 0) fail_with_errno("create folder", partial_path_);
  descriptor_ = open(partial_path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor_ >= 0) flock(descriptor_, LOCK_EX | LOCK_NB);
}

AtomicFolder::~AtomicFolder() {
  if (descriptor_ >= 0) close(descriptor_);
  std::error_code ignored;
  if (!committed_) fs::remove_all(partial_path_, ignored);
}

void AtomicFolder::commit() {
  check(!committed_, ErrorKind::invalid_argument, "'{}' is committed twice", path_.string());
  try {
    flush_tree(partial_path_);
  } catch (const fs::filesystem_error& error) {
    fail(ErrorKind::io, "cannot flush '{}' to disk: {}", partial_path_.string(), error.code().message());
  }
  replace_folder(partial_path_, path_);
  committed_ = true;
}

void replace_folder(const fs::path& from, const fs::path& to, bool try_exchange) {
  const fs::path parent = parent_of(to);
  std::error_code ignored;
  if (!fs::exists(fs::symlink_status(to))) {
    if (rename(from.c_str(), to.c_str()) != 0) fail_with_errno("rename the finished folder to", to);
    flush_to_disk(parent, true);
    return;
  }
  if (try_exchange && renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_EXCHANGE) == 0) {
    flush_to_disk(parent, true);
    fs::remove_all(from, ignored);
    return;
  }
  if (try_exchange && errno != EINVAL && errno != ENOSYS && errno != EOPNOTSUPP) fail_with_errno("replace folder", to);
  const fs::path aside = marked_path(to, kPreviousMark);
  fs::remove_all(aside, ignored);
  if (rename(to.c_str(), aside.c_str()) != 0) fail_with_errno("move aside", to);
  if (rename(from.c_str(), to.c_str()) != 0) {
    const int error = errno;
    if (rename(aside.c_str(), to.c_str()) != 0) fail_with_errno("move back", to);
    errno = error;
    fail_with_errno("rename the finished folder to", to);
  }
  flush_to_disk(parent, true);
  fs::remove_all(aside, ignored);
}

int remove_partial_files(const fs::path& folder) {
  std::vector<fs::path> paths;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    paths.push_back(it->path());
  }
  int count = 0;
  for (const fs::path& path : paths) {
    const std::string original = name_before_mark(path.filename(), kPreviousMark);
    const bool is_partial = !name_before_mark(path.filename(), kPartialMark).empty();
    if ((!is_partial && original.empty()) || !is_abandoned(path)) continue;
    if (!original.empty() && !fs::exists(fs::symlink_status(folder / original, error))) {
      fs::rename(path, folder / original, error);
    } else {
      fs::remove_all(path, error);
    }
    if (!error) ++count;
  }
  return count;
}

uint64_t free_disk_bytes(const fs::path& path) {
  std::error_code error;
  fs::path existing = fs::absolute(path, error);
  while (!fs::exists(existing, error) && existing.has_relative_path()) existing = existing.parent_path();
  struct statvfs status {};
  if (statvfs(existing.c_str(), &status) != 0) fail_with_errno("read the free space of", existing);
  return uint64_t{status.f_bavail} * status.f_frsize;
}

}  // namespace owlet
