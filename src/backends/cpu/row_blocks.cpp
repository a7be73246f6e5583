#include "backends/cpu/row_blocks.hpp"

#include "base/parallel_for.hpp"

namespace owlet::cpu {

void combine_blocks(const float* partial_sums, int64_t num_blocks, int64_t columns, int64_t stride,
                    const GradientSlot& slot) {
  if (!slot.is_wanted()) return;
  constexpr int64_t kColumnsPerRange = 512;
  float* target = slot.tensor.data<float>();
  parallel_for(columns, kColumnsPerRange, [&](int64_t begin, int64_t end) {
    float sums[kColumnsPerRange] = {};
    const int64_t width = end - begin;
    for (int64_t block = 0; block < num_blocks; ++block) {
      const float* source = partial_sums + block * stride + begin;
      for (int64_t i = 0; i < width; ++i) sums[i] += source[i];
    }
    for (int64_t i = 0; i < width; ++i) target[begin + i] = slot.accumulate ? target[begin + i] + sums[i] : sums[i];
  });
}

}  // namespace owlet::cpu
