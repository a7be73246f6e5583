// The allocator under every backend, the planner included: so that a plan's peak is the program's peak.
//
// One arena that grows at its end; freed blocks merge with free neighbours and are used again best fit first.
// Memory is touched once and never returned between steps (first touch is slow, see docs/architecture.md).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "tensor/buffer.hpp"

namespace owlet {

/// Where the arena's bytes come from.
class MemorySource {
 public:
  virtual ~MemorySource() = default;
  /// First byte of the arena, the same for its whole life; null where there is no memory behind it.
  virtual std::byte* base() const = 0;
  /// Largest arena this source can give.
  virtual size_t capacity_bytes() const = 0;
  /// Called before the arena grows to `size_bytes`. Throws Error out_of_memory.
  virtual void grow(size_t size_bytes) = 0;
};

/// Anonymous memory of this process in huge pages where the system gives them, at most `capacity_bytes` (0: the
/// machine's memory).
std::unique_ptr<MemorySource> make_system_memory_source(size_t capacity_bytes = 0);
/// Address space without memory, for planning.
std::unique_ptr<MemorySource> make_virtual_memory_source(size_t capacity_bytes = size_t{1} << 50);

/// Bytes by purpose at one moment.
using MemoryByKind = std::array<size_t, kNumMemoryKinds>;

struct MemoryStatistics {
  size_t in_use_bytes = 0;
  MemoryByKind in_use_by_kind{};
  /// Largest in_use_bytes since the last reset_peak, and what it consisted of.
  size_t peak_in_use_bytes = 0;
  MemoryByKind peak_by_kind{};
  /// Size of the arena: what the process really takes. arena_bytes - peak_in_use_bytes is lost to gaps between blocks.
  size_t arena_bytes = 0;
  uint64_t num_allocations = 0;
  /// How often the arena had to grow.
  uint64_t num_growths = 0;
};

/// Thread-safe. Buffers may outlive the allocator object: the arena lives until the last of them has died.
class CachingAllocator {
 public:
  explicit CachingAllocator(std::unique_ptr<MemorySource> source);
  ~CachingAllocator();

  /// A buffer of at least one byte, aligned to 64 bytes, uninitialised. Throws Error out_of_memory with the numbers.
  BufferHandle allocate(size_t size_bytes, MemoryKind kind);

  MemoryStatistics statistics() const;
  void reset_peak();
  /// Fills every new buffer with NaN patterns, so that tests see reads of uninitialised memory.
  void poison_new_buffers(bool enabled);

 private:
  struct Arena;
  std::shared_ptr<Arena> arena_;
};

}  // namespace owlet
