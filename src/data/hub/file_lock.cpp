#include "data/hub/file_lock.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/error.hpp"
#include "data/hub/retry_wait.hpp"

namespace owlet {

namespace {

constexpr double kPollSeconds = 0.05;
constexpr mode_t kGroupWritable = 0664;  // several people may share one cache

}  // namespace

FileLock::FileLock(const std::filesystem::path& path, const std::function<bool()>& should_stop,
                   const std::function<void()>& on_wait) {
  descriptor_ = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, kGroupWritable);
  check(descriptor_ >= 0, ErrorKind::io, "cannot create the lock '{}': {}", path.string(), std::strerror(errno));
  bool has_told = false;
  while (flock(descriptor_, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR) return;  // no locks on this file system
    if (on_wait && !has_told) on_wait();
    has_told = true;
    if (!sleep_unless_stopped(kPollSeconds, should_stop)) {
      close(descriptor_);
      descriptor_ = -1;
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
