#include "tensor/buffer.hpp"

#include <array>
#include <atomic>

namespace owlet {

std::string_view to_string(MemoryKind kind) {
  constexpr std::array<std::string_view, kNumMemoryKinds> kNames = {
      "weights", "gradients", "optimizer", "activations", "logits", "workspace", "cache", "batch", "other"};
  return kNames[static_cast<size_t>(kind)];
}

uint64_t next_buffer_id() {
  static std::atomic<uint64_t> counter{0};
  return ++counter;
}

}  // namespace owlet
