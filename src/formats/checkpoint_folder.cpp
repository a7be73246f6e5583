#include "formats/checkpoint_folder.hpp"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <set>

#include "base/atomic_file.hpp"
#include "base/checksum.hpp"
#include "base/error.hpp"
#include "base/human.hpp"
#include "base/json.hpp"
#include "base/log.hpp"
#include "base/mapped_file.hpp"

namespace owlet {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kStepPrefix = "step-";
constexpr std::string_view kManifestName = "checkpoint.json";
constexpr size_t kChecksumChunkBytes = size_t{8} << 20;
constexpr size_t kMaxMarkBytes = 64;

/// The N of "step-N" in plain decimal; nothing for any other name.
std::optional<int64_t> step_of_name(std::string_view name) {
  if (!name.starts_with(kStepPrefix)) return std::nullopt;
  const std::string_view digits = name.substr(kStepPrefix.size());
  int64_t step = 0;
  const auto result = std::from_chars(digits.data(), digits.data() + digits.size(), step);
  const bool is_plain = result.ec == std::errc() && result.ptr == digits.data() + digits.size() && step >= 0 &&
                        digits == std::to_string(step);
  return is_plain ? std::optional(step) : std::nullopt;
}

uint32_t file_crc(const MappedFile& file) {
  uint32_t crc = 0;
  for (size_t begin = 0; begin < file.size(); begin += kChecksumChunkBytes) {
    const size_t count = std::min(kChecksumChunkBytes, file.size() - begin);
    crc = crc32(file.bytes().subspan(begin, count), crc);
    file.release_pages(begin, count);
  }
  return crc;
}

/// Relative names of all regular files below `folder`, sorted, the manifest apart.
std::set<std::string> file_names(const fs::path& folder) {
  std::set<std::string> names;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) names.insert(entry.path().lexically_relative(folder).generic_string());
  }
  names.erase(std::string(kManifestName));
  return names;
}

void write_manifest(const fs::path& folder, int64_t step) {
  OrderedJson manifest;
  manifest["step"] = step;
  manifest["files"] = OrderedJson::array();
  for (const std::string& name : file_names(folder)) {
    const MappedFile file(folder / name);
    manifest["files"].push_back(
        {{"name", name}, {"bytes", file.size()}, {"crc32", fmt::format("{:08x}", file_crc(file))}});
  }
  write_file_atomically(folder / kManifestName, dump_json(manifest, 1) + "\n");
}

/// The name that `latest` or `best` holds, without checking that it exists.
std::string read_mark(const fs::path& mark) {
  std::error_code error;
  const fs::path target = fs::read_symlink(mark, error);
  if (!error) return target.filename().string();
  if (!fs::is_regular_file(mark, error)) return {};
  std::string text = read_file(mark, kMaxMarkBytes);
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

void check_mark_name(std::string_view name) {
  check(!name.empty() && name.find('/') == std::string_view::npos && !name.starts_with('.') && !step_of_name(name),
        ErrorKind::invalid_argument, "'{}' is no name for a mark of a checkpoint", name);
}

}  // namespace

fs::path checkpoint_path(const fs::path& folder, int64_t step) {
  check(step >= 0, ErrorKind::invalid_argument, "checkpoint of step {}, expected 0 or more", step);
  return folder / fmt::format("{}{}", kStepPrefix, step);
}

std::vector<CheckpointEntry> list_checkpoints(const fs::path& folder) {
  std::vector<CheckpointEntry> entries;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    const auto step = step_of_name(it->path().filename().string());
    std::error_code ignored;
    if (step && !it->is_symlink(ignored) && it->is_directory(ignored)) entries.push_back({*step, it->path()});
  }
  check(!error || error == std::errc::no_such_file_or_directory, ErrorKind::io, "cannot list '{}': {}", folder.string(),
        error.message());
  std::sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) { return a.step < b.step; });
  return entries;
}

void check_disk_space(const fs::path& folder, uint64_t needed_bytes, std::string_view what) {
  const uint64_t free_bytes = free_disk_bytes(folder);
  if (needed_bytes > free_bytes) {
    throw Error(
        ErrorKind::io,
        fmt::format("{} needs {} ({} bytes), but {} ({} bytes) are free at '{}'", what, format_bytes(needed_bytes),
                    needed_bytes, format_bytes(free_bytes), free_bytes, folder.string()),
        "free some space on that disk or choose another folder");
  }
}

fs::path write_checkpoint(const fs::path& folder, int64_t step, uint64_t estimated_bytes,
                          const std::function<void(const fs::path& working)>& fill) {
  const fs::path path = checkpoint_path(folder, step);
  check_disk_space(folder, estimated_bytes, "a checkpoint");
  try {
    fs::create_directories(folder);
    AtomicFolder working(path);
    fill(working.working_path());
    write_manifest(working.working_path(), step);
    working.commit();
  } catch (const fs::filesystem_error& error) {
    fail(ErrorKind::io, "cannot write the checkpoint '{}': {}", path.string(), error.what());
  }
  mark_checkpoint(folder, "latest", step);
  return path;
}

void mark_checkpoint(const fs::path& folder, std::string_view name, int64_t step) {
  check_mark_name(name);
  const fs::path path = checkpoint_path(folder, step);
  std::error_code error;
  check(fs::is_directory(path, error), ErrorKind::not_found, "there is no checkpoint '{}' to mark as '{}'",
        path.string(), name);
  const fs::path mark = folder / name;
  const fs::path partial = folder / fmt::format("{}.partial-{}", name, getpid());
  fs::remove(partial, error);
  fs::create_symlink(path.filename(), partial, error);
  if (error) {  // a file system without links, such as exFAT
    write_file_atomically(mark, path.filename().string() + "\n");
    return;
  }
  fs::rename(partial, mark, error);
  if (error) {
    std::error_code ignored;
    fs::remove(partial, ignored);
    fail(ErrorKind::io, "cannot point '{}' at '{}': {}", mark.string(), path.filename().string(), error.message());
  }
}

std::optional<int64_t> marked_checkpoint(const fs::path& folder, std::string_view name) {
  check_mark_name(name);
  const auto step = step_of_name(read_mark(folder / name));
  std::error_code ignored;
  return step && fs::is_directory(checkpoint_path(folder, *step), ignored) ? step : std::nullopt;
}

std::vector<int64_t> prune_checkpoints(const fs::path& folder, int keep_last) {
  check(keep_last >= 1, ErrorKind::invalid_argument, "keep the last {} checkpoints asked, at least 1 is kept",
        keep_last);
  remove_partial_files(folder);
  const std::vector<CheckpointEntry> entries = list_checkpoints(folder);
  const std::optional<int64_t> best = marked_checkpoint(folder, "best");
  const size_t num_old = entries.size() - std::min(entries.size(), static_cast<size_t>(keep_last));
  std::vector<int64_t> removed;
  for (size_t i = 0; i < num_old; ++i) {
    if (entries[i].step == best) continue;
    std::error_code error;
    // The manifest goes first, so that a half-removed folder is never taken for a whole checkpoint.
    fs::remove(entries[i].path / kManifestName, error);
    fs::remove_all(entries[i].path, error);
    if (error) {
      log_warning("cannot remove the old checkpoint '{}': {}", entries[i].path.string(), error.message());
    } else {
      removed.push_back(entries[i].step);
    }
  }
  return removed;
}

void verify_checkpoint(const fs::path& checkpoint) {
  const fs::path manifest_path = checkpoint / kManifestName;
  const std::string where = manifest_path.string();
  std::error_code ignored;
  check(fs::exists(manifest_path, ignored), ErrorKind::corrupt_file, "the checkpoint '{}' has no {}",
        checkpoint.string(), kManifestName);
  const Json manifest = read_json(manifest_path);
  const int64_t step = json_get<int64_t>(manifest, "step", where);
  const auto named_step = step_of_name(checkpoint.filename().string());
  check(!named_step || *named_step == step, ErrorKind::corrupt_file, "'{}' says it is the checkpoint of step {}", where,
        step);
  for (const Json& entry : json_get<std::vector<Json>>(manifest, "files", where)) {
    const std::string name = json_get<std::string>(entry, "name", where);
    const uint64_t bytes = json_get<uint64_t>(entry, "bytes", where);
    const std::string crc = json_get<std::string>(entry, "crc32", where);
    const fs::path relative = fs::path(name).lexically_normal();
    check(relative.is_relative() && !relative.empty() && *relative.begin() != "..", ErrorKind::corrupt_file,
          "{}: '{}' is no name of a file in the checkpoint", where, name);
    const fs::path path = checkpoint / relative;
    check(fs::is_regular_file(path, ignored), ErrorKind::corrupt_file, "'{}' is missing", path.string());
    const MappedFile file(path);
    check(file.size() == bytes, ErrorKind::corrupt_file, "'{}' has {} bytes, {} were written", path.string(),
          file.size(), bytes);
    const std::string found = fmt::format("{:08x}", file_crc(file));
    check(found == crc, ErrorKind::corrupt_file, "'{}' has the checksum {}, {} was written", path.string(), found, crc);
  }
}

std::optional<CheckpointEntry> newest_valid_checkpoint(const fs::path& folder) {
  const std::vector<CheckpointEntry> entries = list_checkpoints(folder);
  for (size_t i = entries.size(); i-- > 0;) {
    try {
      verify_checkpoint(entries[i].path);
      return entries[i];
    } catch (const Error& error) {
      log_warning("the checkpoint of step {} is broken ({}); {}", entries[i].step, error.what(),
                  i > 0 ? fmt::format("going back to step {}", entries[i - 1].step) : "there is none before it");
    }
  }
  check(entries.empty(), ErrorKind::corrupt_file, "all {} checkpoints in '{}' are broken", entries.size(),
        folder.string());
  return std::nullopt;
}

}  // namespace owlet
