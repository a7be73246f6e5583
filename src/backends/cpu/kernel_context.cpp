#include "backends/cpu/kernel_context.hpp"

#include "backends/cpu/matmul_state.hpp"

namespace owlet::cpu {

KernelContext::KernelContext(CachingAllocator& allocator) : allocator_(allocator) {}

KernelContext::~KernelContext() = default;

KernelContext::MatmulState& KernelContext::matmul() {
  if (!matmul_) matmul_ = std::make_unique<MatmulState>();
  return *matmul_;
}

}  // namespace owlet::cpu
