#include "train/run_folder.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <functional>
#include <set>

#include "base/atomic_file.hpp"
#include "base/error.hpp"

namespace owlet {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kLockFile = ".lock";

/// Takes the lock of a run folder, or throws. Returns the descriptor that holds it.
int take_lock(const fs::path& folder) {
  const fs::path path = folder / kLockFile;
  const int lock = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  check(lock >= 0, ErrorKind::io, "cannot open '{}': {}", path.string(), std::strerror(errno));
  if (::flock(lock, LOCK_EX | LOCK_NB) == 0) return lock;
  const int reason = errno;
  ::close(lock);
  check(reason == EWOULDBLOCK, ErrorKind::io, "cannot lock '{}': {}", path.string(), std::strerror(reason));
  throw Error(ErrorKind::invalid_argument,
              fmt::format("another process is training in the run folder '{}'", folder.string()),
              "wait for it, or choose another run folder");
}

/// Whether a folder holds nothing but what a run that died at its very start leaves behind.
bool is_as_good_as_empty(const fs::path& folder) {
  std::error_code ignored;
  for (fs::directory_iterator entry(folder, ignored), end; entry != end; entry.increment(ignored)) {
    const std::string name = entry->path().filename().string();
    if (name != kLockFile && name != "recipe.toml" && name.find(".partial-") == std::string::npos) return false;
  }
  return true;
}

/// One write() per call: a process killed between two calls leaves whole lines.
void append_to(const fs::path& path, std::string_view text) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  check(file >= 0, ErrorKind::io, "cannot open '{}': {}", path.string(), std::strerror(errno));
  while (!text.empty()) {
    const ssize_t written = ::write(file, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      const int reason = errno;
      ::close(file);
      fail(ErrorKind::io, "cannot write {} bytes to '{}': {}", text.size(), path.string(), std::strerror(reason));
    }
    text.remove_prefix(static_cast<size_t>(written));
  }
  ::close(file);
}

/// Rewrites a file with the lines that `keeps` wants, if that changes anything.
void filter_lines(const fs::path& path, const std::function<bool(std::string_view line)>& keeps) {
  if (!fs::exists(path)) return;
  const std::string text = read_file(path);
  std::string kept;
  for (size_t begin = 0; begin < text.size();) {
    const size_t newline = text.find('\n', begin);
    const size_t end = newline == std::string::npos ? text.size() : newline + 1;
    const std::string_view line(text.data() + begin, end - begin);
    if (keeps(line)) kept += line;
    begin = end;
  }
  if (kept != text) write_file_atomically(path, kept);
}

bool is_metrics_line_until(std::string_view line, int64_t step) {
  if (!line.ends_with('\n')) return false;
  try {
    return json_get<int64_t>(parse_json(line, "metrics.jsonl"), "step", "metrics.jsonl") <= step;
  } catch (const Error&) {
    return false;
  }
}

constexpr std::string_view kSampleHeading = "## Step ";

}  // namespace

bool is_run_folder(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path / "run.json", ignored) && fs::is_regular_file(path / "recipe.toml", ignored);
}

RunFolder::RunFolder(fs::path path, int lock) : path_(std::move(path)), lock_(lock) {}
RunFolder::RunFolder(RunFolder&& other) noexcept : path_(std::move(other.path_)), lock_(other.lock_) {
  other.lock_ = -1;
}
RunFolder::~RunFolder() {
  if (lock_ >= 0) ::close(lock_);
}

void RunFolder::check_can_create(const fs::path& path, bool force) {
  check(!path.empty(), ErrorKind::invalid_argument, "the run folder has no name");
  std::error_code ignored;
  if (!fs::exists(path, ignored)) return;
  check(fs::is_directory(path), ErrorKind::invalid_argument, "'{}' is no folder, so it cannot hold a run",
        path.string());
  if (is_run_folder(path)) {
    if (force) return;
    throw Error(ErrorKind::invalid_argument, fmt::format("'{}' holds a run already", path.string()),
                fmt::format("`owlet resume {}` continues it, --force starts over", path.string()));
  }
  check(is_as_good_as_empty(path), ErrorKind::invalid_argument,
        "'{}' is not empty and holds no run, so it is left alone", path.string());
}

RunFolder RunFolder::create(const fs::path& path, const Recipe& recipe, const fs::path& data_folder, bool force) {
  check_can_create(path, force);
  std::error_code error;
  fs::create_directories(path, error);
  check(!error, ErrorKind::io, "cannot make the run folder '{}': {}", path.string(), error.message());
  RunFolder run(fs::absolute(path), take_lock(path));
  // Only with the lock in hand: the old run may be at work. run.json goes first, so that a half-removed run is none.
  fs::remove(run.path_ / "run.json", error);
  for (const char* name : {"recipe.toml", "metrics.jsonl", "log.txt", "samples.md"})
    fs::remove(run.path_ / name, error);
  fs::remove_all(run.checkpoints(), error);
  check(!error, ErrorKind::io, "cannot remove '{}': {}", run.checkpoints().string(), error.message());
  remove_partial_files(run.path_);
  run.write_recipe(recipe);
  const OrderedJson about{{"data", fs::absolute(data_folder).lexically_normal().string()},
                          {"owlet_version", OWLET_VERSION}};
  write_file_atomically(run.path_ / "run.json", dump_json(about, 2) + "\n");
  return run;
}

RunFolder RunFolder::open(const fs::path& path) {
  for (const char* name : {"run.json", "recipe.toml"}) {
    check(fs::exists(path / name), ErrorKind::not_found, "'{}' is no run folder: it has no {}", path.string(), name);
  }
  RunFolder run(fs::absolute(path), take_lock(path));
  remove_partial_files(run.path_);
  return run;
}

Recipe RunFolder::recipe() const { return load_recipe(path_ / "recipe.toml"); }

void RunFolder::write_recipe(const Recipe& recipe) const {
  write_file_atomically(path_ / "recipe.toml", to_toml(recipe));
}

fs::path RunFolder::data_folder() const {
  const fs::path path = path_ / "run.json";
  return json_get<std::string>(read_json(path), "data", path.string());
}

void RunFolder::append_metrics(const OrderedJson& line) const {
  append_to(path_ / "metrics.jsonl", dump_json(line) + "\n");
}

void RunFolder::append_log(std::string_view message) const {
  append_to(path_ / "log.txt", std::string(message) + "\n");
}

void RunFolder::append_sample(int64_t step, std::string_view prompt, std::string_view text) const {
  std::string quoted = "> **" + std::string(prompt) + "**";
  for (const char c : text) {
    quoted += c;
    if (c == '\n') quoted += "> ";
  }
  append_to(path_ / "samples.md", fmt::format("{}{}\n\n{}\n\n", kSampleHeading, step, quoted));
}

void RunFolder::cut_back_to(int64_t step) const {
  filter_lines(path_ / "metrics.jsonl", [&](std::string_view line) { return is_metrics_line_until(line, step); });
  bool is_kept = true;
  filter_lines(path_ / "samples.md", [&](std::string_view line) {
    if (line.starts_with(kSampleHeading)) {
      is_kept = std::atoll(std::string(line.substr(kSampleHeading.size())).c_str()) <= step;
    }
    return is_kept;
  });
}

}  // namespace owlet
