#include "backends/cpu/attention_scratch.hpp"

#include <cassert>
#include <memory>
#include <new>

namespace owlet::cpu {
namespace {

constexpr std::align_val_t kAlignment{64};

struct AlignedDelete {
  void operator()(float* memory) const { ::operator delete(memory, kAlignment); }
};

struct ThreadMemory {
  std::unique_ptr<float, AlignedDelete> floats;
  size_t size = 0;
};

}  // namespace

ThreadScratch::ThreadScratch(size_t num_floats) : left_(num_floats) {
  thread_local ThreadMemory memory;
  if (memory.size < num_floats) {
    memory.size = 0;
    memory.floats.reset();
    memory.floats.reset(static_cast<float*>(::operator new(num_floats * sizeof(float), kAlignment)));
    memory.size = num_floats;
  }
  next_ = memory.floats.get();
}

float* ThreadScratch::take(size_t num_floats) {
  const size_t size = padded(num_floats);
  assert(size <= left_);
  float* array = next_;
  next_ += size;
  left_ -= size;
  return array;
}

}  // namespace owlet::cpu
