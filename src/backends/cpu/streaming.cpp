#include "backends/cpu/streaming.hpp"

#include <atomic>
#include <cstdint>

namespace owlet::cpu {

namespace {

/// What virtual machines say of their caches is not to be trusted (384 MiB where 32 behave like a cache), so one number
/// serves all: twice the last cache of usual processors.
constexpr size_t kUsualLimit = size_t{64} << 20;

std::atomic<size_t>& limit() {
  static std::atomic<size_t> the_limit{kUsualLimit};
  return the_limit;
}

}  // namespace

size_t streamed_bytes() { return limit().load(std::memory_order_relaxed); }

void set_streamed_bytes(size_t bytes) { limit().store(bytes == 0 ? kUsualLimit : bytes, std::memory_order_relaxed); }

bool is_streamed(const Tensor& result) {
  return result.defined() && result.size_bytes() >= streamed_bytes() &&
         reinterpret_cast<uintptr_t>(result.bytes()) % kStreamAlignment == 0;
}

bool is_streamed(const GradientSlot& slot) { return !slot.accumulate && is_streamed(slot.tensor); }

}  // namespace owlet::cpu
