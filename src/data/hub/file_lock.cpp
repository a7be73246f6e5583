#include "data/hub/file_lock.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.hpp"
#include "data/hub/retry_wait.hpp"

namespace owlet {

namespace {

constexpr double kPollSeconds = 0.05;
constexpr mode_t kGroupWritable = 0664;  // several people may share one cache

/// False where others have removed or replaced the file meanwhile: a lock on it keeps nobody out.
bool is_at(int descriptor, const std::filesystem::path& path) {
  struct stat open_file {
  }, file_there{};
  return fstat(descriptor, &open_file) == 0 && stat(path.c_str(), &file_there) == 0 &&
         open_file.st_dev == file_there.st_dev && open_file.st_ino == file_there.st_ino;
}

}  // namespace

FileLock::FileLock(const std::filesystem::path& path, const std::function<bool()>& should_stop,
                   const std::function<void()>& on_wait) {
  bool has_told = false;
  while (true) {
    if (descriptor_ < 0) descriptor_ = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, kGroupWritable);
    check(descriptor_ >= 0, ErrorKind::io, "cannot create the lock '{}': {}", path.string(), std::strerror(errno));
    if (flock(descriptor_, LOCK_EX | LOCK_NB) == 0) {
      if (is_at(descriptor_, path)) return;
      close(std::exchange(descriptor_, -1));
      continue;
    }
    if (errno != EWOULDBLOCK && errno != EINTR) return;  // no locks on this file system
    if (on_wait && !has_told) on_wait();
    has_told = true;
    if (!sleep_unless_stopped(kPollSeconds, should_stop)) {
      close(std::exchange(descriptor_, -1));
      fail(ErrorKind::cancelled, "stopped while another process downloads the same file ('{}')", path.string());
    }
  }
}

FileLock::~FileLock() {
  if (descriptor_ >= 0) close(descriptor_);
}

void FileLock::write_note(const std::string& note) {
  if (ftruncate(descriptor_, 0) != 0) return;  // a note only: nothing depends on it
  if (pwrite(descriptor_, note.data(), note.size(), 0) < 0) return;
}

bool is_unlocked(const std::filesystem::path& path) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return errno == ENOENT;
  const bool is_free = flock(descriptor, LOCK_EX | LOCK_NB) == 0;
  close(descriptor);
  return is_free;
}

}  // namespace owlet
