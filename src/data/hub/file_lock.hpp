// A lock between processes.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

namespace owlet {

/// Holds an exclusive flock on a file (created where missing, never removed: another process may be opening it). The
/// same kind of lock that huggingface_hub takes, so both wait for each other. File systems without locks do without.
class FileLock {
 public:
  /// Waits for the lock. `on_wait` is called once when somebody else holds it; `should_stop` is asked twenty times a
  /// second and ends the wait with Error cancelled. Throws Error io where the file cannot be made.
  explicit FileLock(const std::filesystem::path& path, const std::function<bool()>& should_stop = {},
                    const std::function<void()>& on_wait = {});
  ~FileLock();
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

  /// A note in the lock file for whoever looks later (the file that is being downloaded).
  void write_note(const std::string& note);

 private:
  int descriptor_ = -1;
};

/// True if nobody holds the lock at this moment (or there is no such file).
bool is_unlocked(const std::filesystem::path& path);

}  // namespace owlet
