// How fast memory is read, written and both at once: the limits of kernels bound by memory.
#pragma once

#include <cstdint>

namespace owlet {

/// Memory far larger than the caches, all threads together, in 10^9 bytes/s.
struct MemorySpeeds {
  /// Reading alone.
  double read_gb_per_second = 0;
  /// Writing alone, past the caches where the processor can: an ordinary store reads the line first.
  double write_gb_per_second = 0;
  /// Reading and writing equal shares, both counted: the better of copying past the caches and changing in place.
  double copy_gb_per_second = 0;
};

/// Measures memory again and again on one buffer.
class MemoryProbe {
 public:
  /// At least 2 MiB. Throws Error invalid_argument, out_of_memory.
  explicit MemoryProbe(uint64_t buffer_bytes);
  ~MemoryProbe();
  MemoryProbe(const MemoryProbe&) = delete;
  MemoryProbe& operator=(const MemoryProbe&) = delete;

  /// Each speed for about `seconds`, with num_threads() threads and the widest vectors; the best of several rounds.
  MemorySpeeds measure(double seconds);

 private:
  char* data_;
  int64_t size_;
};

/// MemoryProbe(buffer_bytes).measure(seconds).
MemorySpeeds measure_memory(double seconds, uint64_t buffer_bytes);

}  // namespace owlet
