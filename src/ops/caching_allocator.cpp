#include "ops/caching_allocator.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <set>

#include "base/error.hpp"

namespace owlet {
namespace {

constexpr size_t kBlockAlignment = 512;
constexpr size_t kHugePage = size_t{2} << 20;

size_t round_up(size_t value, size_t unit) { return (value + unit - 1) / unit * unit; }

class SystemMemorySource final : public MemorySource {
 public:
  explicit SystemMemorySource(size_t capacity) : capacity_(round_up(capacity, kHugePage)) {
    // Reserving address space costs nothing; one huge page more so that the arena can start on a huge-page border.
    mapping_bytes_ = capacity_ + kHugePage;
    void* address =
        mmap(nullptr, mapping_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (address == MAP_FAILED) {
      throw Error(ErrorKind::out_of_memory, fmt::format("the system refuses {} bytes of address space", mapping_bytes_),
                  "a limit is set for this process: see `ulimit -v`");
    }
    mapping_ = static_cast<std::byte*>(address);
    base_ = reinterpret_cast<std::byte*>(round_up(reinterpret_cast<uintptr_t>(mapping_), kHugePage));
    madvise(base_, capacity_, MADV_HUGEPAGE);
  }
  ~SystemMemorySource() override { munmap(mapping_, mapping_bytes_); }
  std::byte* base() const override { return base_; }
  size_t capacity_bytes() const override { return capacity_; }
  void grow(size_t) override {}

 private:
  size_t capacity_, mapping_bytes_;
  std::byte *mapping_ = nullptr, *base_ = nullptr;
};

class VirtualMemorySource final : public MemorySource {
 public:
  explicit VirtualMemorySource(size_t capacity) : capacity_(capacity) {}
  std::byte* base() const override { return nullptr; }
  size_t capacity_bytes() const override { return capacity_; }
  void grow(size_t) override {}

 private:
  size_t capacity_;
};

}  // namespace

std::unique_ptr<MemorySource> make_system_memory_source(size_t capacity_bytes) {
  if (capacity_bytes == 0) {
    capacity_bytes = static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<size_t>(sysconf(_SC_PAGESIZE));
  }
  return std::make_unique<SystemMemorySource>(capacity_bytes);
}

std::unique_ptr<MemorySource> make_virtual_memory_source(size_t capacity_bytes) {
  return std::make_unique<VirtualMemorySource>(capacity_bytes);
}

struct CachingAllocator::Arena {
  std::mutex mutex;
  std::unique_ptr<MemorySource> source;
  // Free blocks by offset (to merge neighbours) and by (size, offset) (to find the best fit).
  std::map<size_t, size_t> free_by_offset;
  std::set<std::pair<size_t, size_t>> free_by_size;
  MemoryStatistics statistics;
  bool poisons = false;

  void insert_free(size_t offset, size_t size) {
    free_by_offset.emplace(offset, size);
    free_by_size.emplace(size, offset);
  }
  void erase_free(size_t offset, size_t size) {
    free_by_offset.erase(offset);
    free_by_size.erase({size, offset});
  }
  size_t take(size_t size);
  void give_back(size_t offset, size_t size);
  void count_taken(size_t size, MemoryKind kind);
};

/// Offset of a block of exactly `size` bytes, growing the arena at its end when no gap is large enough.
size_t CachingAllocator::Arena::take(size_t size) {
  if (auto best = free_by_size.lower_bound({size, 0}); best != free_by_size.end()) {
    const auto [block_size, offset] = *best;
    erase_free(offset, block_size);
    if (block_size > size) insert_free(offset + size, block_size - size);
    return offset;
  }
  // A free block at the end of the arena is part of the new one.
  size_t offset = statistics.arena_bytes;
  size_t tail = 0;
  if (!free_by_offset.empty()) {
    const auto [last_offset, last_size] = *free_by_offset.rbegin();
    if (last_offset + last_size == offset) {
      offset = last_offset;
      tail = last_size;
    }
  }
  const size_t capacity = source->capacity_bytes();
  if (size > capacity || offset > capacity - size) {
    throw Error(ErrorKind::out_of_memory,
                fmt::format("{} bytes do not fit: {} of {} bytes are taken", size, offset, capacity),
                "a smaller batch or context, or gradient checkpointing, needs less memory");
  }
  source->grow(offset + size);
  if (tail > 0) erase_free(offset, tail);
  statistics.arena_bytes = offset + size;
  ++statistics.num_growths;
  return offset;
}

void CachingAllocator::Arena::give_back(size_t offset, size_t size) {
  auto next = free_by_offset.lower_bound(offset);
  if (next != free_by_offset.begin()) {
    const auto previous = std::prev(next);
    if (previous->first + previous->second == offset) {
      const auto [previous_offset, previous_size] = *previous;
      erase_free(previous_offset, previous_size);
      offset = previous_offset;
      size += previous_size;
    }
  }
  if (next = free_by_offset.lower_bound(offset); next != free_by_offset.end() && next->first == offset + size) {
    const auto [next_offset, next_size] = *next;
    erase_free(next_offset, next_size);
    size += next_size;
  }
  insert_free(offset, size);
}

void CachingAllocator::Arena::count_taken(size_t size, MemoryKind kind) {
  statistics.in_use_bytes += size;
  statistics.in_use_by_kind[static_cast<size_t>(kind)] += size;
  ++statistics.num_allocations;
  if (statistics.in_use_bytes > statistics.peak_in_use_bytes) {
    statistics.peak_in_use_bytes = statistics.in_use_bytes;
    statistics.peak_by_kind = statistics.in_use_by_kind;
  }
}

CachingAllocator::CachingAllocator(std::unique_ptr<MemorySource> source) : arena_(std::make_shared<Arena>()) {
  arena_->source = std::move(source);
}

CachingAllocator::~CachingAllocator() = default;

BufferHandle CachingAllocator::allocate(size_t size_bytes, MemoryKind kind) {
  check(size_bytes <= arena_->source->capacity_bytes(), ErrorKind::out_of_memory,
        "one tensor of {} bytes is larger than all memory ({} bytes)", size_bytes, arena_->source->capacity_bytes());
  const size_t size = round_up(std::max<size_t>(size_bytes, 1), kBlockAlignment);
  std::byte* data = nullptr;
  size_t offset = 0;
  {
    const std::lock_guard lock(arena_->mutex);
    offset = arena_->take(size);
    arena_->count_taken(size, kind);
    if (std::byte* base = arena_->source->base()) data = base + offset;
  }
  if (arena_->poisons && data != nullptr) std::memset(data, 0xff, size);
  auto release = [arena = arena_, offset, size](Buffer* dying) {
    const std::lock_guard lock(arena->mutex);
    arena->statistics.in_use_bytes -= size;
    arena->statistics.in_use_by_kind[static_cast<size_t>(dying->kind)] -= size;
    arena->give_back(offset, size);
    delete dying;
  };
  return BufferHandle(new Buffer{data, size_bytes, next_buffer_id(), kind}, std::move(release));
}

MemoryStatistics CachingAllocator::statistics() const {
  const std::lock_guard lock(arena_->mutex);
  return arena_->statistics;
}

void CachingAllocator::reset_peak() {
  const std::lock_guard lock(arena_->mutex);
  arena_->statistics.peak_in_use_bytes = arena_->statistics.in_use_bytes;
  arena_->statistics.peak_by_kind = arena_->statistics.in_use_by_kind;
}

void CachingAllocator::poison_new_buffers(bool enabled) { arena_->poisons = enabled; }

}  // namespace owlet
