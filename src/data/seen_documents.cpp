#include "data/seen_documents.hpp"

#include <fcntl.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <queue>
#include <string>

#include "base/error.hpp"

namespace owlet {
namespace {

constexpr size_t kMinSlots = 1024;
constexpr size_t kPageHashes = 256;
constexpr size_t kMaxRuns = 8;

bool comes_before(const DocumentHash& a, const DocumentHash& b) {
  return a.high != b.high ? a.high < b.high : (a.low | 1) < (b.low | 1);
}

bool is_free(const DocumentHash& slot) { return slot.high == 0 && slot.low == 0; }

}  // namespace

DocumentHash hash_document(std::string_view text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest = {};
  unsigned int size = 0;
  check(EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_sha256(), nullptr) == 1, ErrorKind::internal,
        "SHA-256 of {} bytes failed", text.size());
  DocumentHash hash;
  std::memcpy(&hash.high, digest.data(), 8);
  std::memcpy(&hash.low, digest.data() + 8, 8);
  return hash;
}

/// A sorted file without a name: it is gone when it is closed.
class SeenDocuments::Run {
 public:
  explicit Run(const std::filesystem::path& folder) {
    std::string name = (folder / "seen-XXXXXX").string();
    descriptor_ = mkostemp(name.data(), O_CLOEXEC);
    check(descriptor_ >= 0, ErrorKind::io, "cannot create a file in '{}': {}", folder.string(), std::strerror(errno));
    unlink(name.c_str());
    folder_ = folder.string();
  }
  ~Run() { close(descriptor_); }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  void append(const DocumentHash& hash) {
    if (size_ % kPageHashes == 0) first_of_pages_.push_back(hash);
    pending_.push_back(hash);
    ++size_;
    if (pending_.size() == kPageHashes * 16) flush();
  }

  void flush() {
    const char* bytes = reinterpret_cast<const char*>(pending_.data());
    size_t left = pending_.size() * sizeof(DocumentHash);
    while (left > 0) {
      const ssize_t written = write(descriptor_, bytes, left);
      if (written < 0 && errno == EINTR) continue;
      check(written > 0, ErrorKind::io, "cannot write {} bytes to a file in '{}': {}", left, folder_,
            std::strerror(written < 0 ? errno : ENOSPC));
      bytes += written;
      left -= static_cast<size_t>(written);
    }
    pending_.clear();
  }

  uint64_t size() const { return size_; }
  size_t num_pages() const { return first_of_pages_.size(); }

  std::vector<DocumentHash> page(size_t index) const {
    const uint64_t begin = uint64_t{index} * kPageHashes;
    std::vector<DocumentHash> hashes(static_cast<size_t>(std::min<uint64_t>(kPageHashes, size_ - begin)));
    const size_t bytes = hashes.size() * sizeof(DocumentHash);
    const ssize_t got = pread(descriptor_, hashes.data(), bytes, static_cast<off_t>(begin * sizeof(DocumentHash)));
    check(got == static_cast<ssize_t>(bytes), ErrorKind::io, "cannot read {} bytes of a file in '{}': {}", bytes,
          folder_, std::strerror(errno));
    return hashes;
  }

  std::optional<DocumentHash> find(const DocumentHash& hash) const {
    const auto behind = std::upper_bound(first_of_pages_.begin(), first_of_pages_.end(), hash, comes_before);
    if (behind == first_of_pages_.begin()) return std::nullopt;
    const auto hashes = page(static_cast<size_t>(behind - first_of_pages_.begin()) - 1);
    const auto found = std::lower_bound(hashes.begin(), hashes.end(), hash, comes_before);
    if (found == hashes.end() || !found->is_same_document(hash)) return std::nullopt;
    return *found;
  }

 private:
  int descriptor_ = -1;
  std::string folder_;
  uint64_t size_ = 0;
  std::vector<DocumentHash> first_of_pages_, pending_;
};

SeenDocuments::SeenDocuments(std::filesystem::path folder, uint64_t memory_bytes)
    : folder_(std::move(folder)),
      // Growing holds the old table of half the size beside the new one.
      max_slots_(std::max(kMinSlots, std::bit_floor(memory_bytes * 2 / 3 / sizeof(DocumentHash)))),
      table_(kMinSlots) {}

SeenDocuments::~SeenDocuments() = default;

size_t SeenDocuments::slot_of(const DocumentHash& hash) const {
  size_t slot = hash.high & (table_.size() - 1);
  while (!is_free(table_[slot]) && !table_[slot].is_same_document(hash)) slot = (slot + 1) & (table_.size() - 1);
  return slot;
}

void SeenDocuments::grow() {
  std::vector<DocumentHash> old(table_.size() * 2);
  old.swap(table_);
  for (const DocumentHash& hash : old) {
    if (!is_free(hash)) table_[slot_of(hash)] = hash;
  }
}

std::optional<DocumentHash> SeenDocuments::find_or_insert(const DocumentHash& hash) {
  const size_t slot = slot_of(hash);
  if (!is_free(table_[slot])) return table_[slot];
  for (const auto& run : runs_) {
    if (const auto found = run->find(hash)) return found;
  }
  table_[slot] = hash;
  if (++num_in_table_ * 4 > table_.size() * 3) {
    if (table_.size() < max_slots_) {
      grow();
    } else {
      spill();
    }
  }
  return std::nullopt;
}

void SeenDocuments::spill() {
  std::erase_if(table_, is_free);
  std::sort(table_.begin(), table_.end(), comes_before);
  auto run = std::make_unique<Run>(folder_);
  for (const DocumentHash& hash : table_) run->append(hash);
  run->flush();
  num_in_runs_ += num_in_table_;
  num_in_table_ = 0;
  table_.assign(max_slots_, DocumentHash{});
  runs_.push_back(std::move(run));
  if (runs_.size() > kMaxRuns) merge_runs();
}

void SeenDocuments::merge_runs() {
  struct Cursor {
    const Run* run;
    size_t next_page = 0, position = 0;
    std::vector<DocumentHash> page = {};
    bool advance() {
      if (++position < page.size()) return true;
      if (next_page == run->num_pages()) return false;
      page = run->page(next_page++);
      position = 0;
      return true;
    }
    const DocumentHash& value() const { return page[position]; }
  };
  const auto is_later = [](const Cursor* a, const Cursor* b) { return comes_before(b->value(), a->value()); };
  std::vector<Cursor> cursors;
  cursors.reserve(runs_.size());
  std::priority_queue<Cursor*, std::vector<Cursor*>, decltype(is_later)> queue(is_later);
  for (const auto& run : runs_) {
    cursors.push_back({run.get()});
    if (cursors.back().advance()) queue.push(&cursors.back());
  }
  auto merged = std::make_unique<Run>(folder_);
  while (!queue.empty()) {
    Cursor* cursor = queue.top();
    queue.pop();
    merged->append(cursor->value());
    if (cursor->advance()) queue.push(cursor);
  }
  merged->flush();
  runs_.clear();
  runs_.push_back(std::move(merged));
}

}  // namespace owlet
