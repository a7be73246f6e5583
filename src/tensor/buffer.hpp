// Buffers: the memory under tensors, with the purpose it serves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

namespace owlet {

/// What a buffer is for: the rows of every memory table.
enum class MemoryKind : uint8_t { weights, gradients, optimizer, activations, logits, workspace, cache, batch, other };
inline constexpr int kNumMemoryKinds = 9;
std::string_view to_string(MemoryKind kind);

/// A span of device memory with an identity. Created by an allocator, which gets it back when the last handle dies.
/// `data` is null on a backend that computes nothing.
struct Buffer {
  std::byte* data = nullptr;
  size_t size_bytes = 0;
  /// Unique in the process and never used again, unlike the address.
  uint64_t id = 0;
  MemoryKind kind = MemoryKind::other;
};

using BufferHandle = std::shared_ptr<Buffer>;

/// A number for Buffer::id. Thread-safe.
uint64_t next_buffer_id();

}  // namespace owlet
