// State of the CPU backend that its kernels use.
#pragma once

#include <memory>

#include "ops/caching_allocator.hpp"

namespace owlet::cpu {

/// Owned by the CPU backend; used by one thread at a time.
class KernelContext {
 public:
  explicit KernelContext(CachingAllocator& allocator);
  ~KernelContext();

  /// Scratch memory for one op; given back when the handle dies.
  BufferHandle scratch(size_t size_bytes) { return allocator_.allocate(size_bytes, MemoryKind::workspace); }
  /// The same, but no buffer at all for zero bytes.
  BufferHandle scratch_or_none(size_t size_bytes) { return size_bytes == 0 ? nullptr : scratch(size_bytes); }

  /// oneDNN's engine, stream and primitive cache; defined in matmul.hpp so that only matrix products see oneDNN.
  struct MatmulState;
  MatmulState& matmul();

 private:
  CachingAllocator& allocator_;
  std::unique_ptr<MatmulState> matmul_;
};

}  // namespace owlet::cpu
