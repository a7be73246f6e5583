#include "data/prepare_folder.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/atomic_file.hpp"
#include "base/error.hpp"

namespace owlet {
namespace fs = std::filesystem;
namespace {

constexpr int kJournalVersion = 1;

fs::path without_trailing_slash(fs::path path) { return path.has_filename() ? path : path.parent_path(); }

/// "seed is 1, was 0" for the first member that differs, empty where none does.
std::string first_difference(const OrderedJson& wanted, const Json& found) {
  for (const auto& [key, value] : wanted.items()) {
    const auto other = found.find(key);
    if (other != found.end() && *other == Json::parse(dump_json(value))) continue;
    if (value.is_structured()) return fmt::format("'{}' changed", key);
    return fmt::format("'{}' is {}, was {}", key, dump_json(value),
                       other == found.end() ? std::string("missing") : dump_json(*other));
  }
  return {};
}

}  // namespace

PrepareFolder::PrepareFolder(const fs::path& out, OrderedJson request, bool restarts)
    : out_(without_trailing_slash(out)), path_(fs::path(out_).concat(".owlet-prepare")), request_(std::move(request)) {
  std::error_code error;
  fs::create_directories(path_, error);
  check(!error, ErrorKind::io, "cannot create the folder '{}': {}", path_.string(), error.message());
  lock_ = open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  check(lock_ >= 0, ErrorKind::io, "cannot open the folder '{}': {}", path_.string(), std::strerror(errno));
  if (flock(lock_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    close(lock_);
    fail(ErrorKind::io, "another process is preparing '{}' (it works in '{}')", out_.string(), path_.string());
  }
  try {
    begin(restarts);
  } catch (...) {
    close(lock_);
    throw;
  }
}

PrepareFolder::~PrepareFolder() {
  if (lock_ >= 0) close(lock_);
}

void PrepareFolder::begin(bool restarts) {
  const fs::path journal = path_ / "journal.json";
  std::error_code error;
  // Without a journal nothing is known to be whole; without data the preparation was completed and moved away.
  if (fs::exists(journal, error) && fs::exists(data_path(), error) && !restarts) {
    Json kept = read_json(journal);
    const int version = json_get<int>(kept, "version", journal_name());
    const std::string difference = version != kJournalVersion
                                       ? fmt::format("journal version {} is not {}", version, kJournalVersion)
                                       : first_difference(request_, json_get<Json>(kept, "request", journal_name()));
    if (!difference.empty()) {
      throw Error(ErrorKind::invalid_argument,
                  fmt::format("'{}' holds an unfinished preparation of something else: {}", path_.string(), difference),
                  "the same command and files as before go on with it; --restart throws it away");
    }
    state_ = std::move(kept["state"]);
    return;
  }
  for (const auto& entry : fs::directory_iterator(path_)) fs::remove_all(entry.path(), error);
  fs::create_directories(data_path(), error);
  check(!error, ErrorKind::io, "cannot create the folder '{}': {}", data_path().string(), error.message());
}

void PrepareFolder::keep(const OrderedJson& state) {
  OrderedJson journal;
  journal["version"] = kJournalVersion;
  journal["request"] = request_;
  journal["state"] = state;
  write_file_atomically(path_ / "journal.json", dump_json(journal) + "\n");
}

void PrepareFolder::commit() {
  replace_folder(data_path(), out_);
  discard();
}

void PrepareFolder::discard() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

}  // namespace owlet
