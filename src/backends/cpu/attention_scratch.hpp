// Small working memory of the attention kernels, per thread.
#pragma once

#include <cstddef>

namespace owlet::cpu {

/// Hands out arrays of the calling thread's own memory, 64-byte aligned, holding whatever they held before. The memory
/// grows to a few hundred kilobytes per thread (block size times head size, whatever the batch): too little to be worth
/// counting in plans. One object at a time per thread.
class ThreadScratch {
 public:
  /// Room for arrays of `num_floats` floats together, each counted with padded().
  explicit ThreadScratch(size_t num_floats);
  static size_t padded(size_t num_floats) { return (num_floats + 15) / 16 * 16; }

  float* take(size_t num_floats);

 private:
  float* next_;
  size_t left_;
};

}  // namespace owlet::cpu
