// FillNormal on the CPU: plain code, since it runs once per training run and each value is a function of its position.
#include "backends/cpu/kernels.hpp"
#include "base/parallel_for.hpp"
#include "base/random.hpp"

namespace owlet::cpu {

namespace {

template <typename T>
void fill_normal(const op::FillNormal& op) {
  T* y = op.y.data<T>();
  parallel_for(op.y.num_elements(), kElementsPerRange / 16, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const double draw = random_normal(op.seed, op.stream, static_cast<uint64_t>(i));
      y[i] = T(static_cast<float>(op.mean + op.deviation * draw));
    }
  });
}

}  // namespace

void run(const op::FillNormal& op, KernelContext&) {
  op.y.dtype() == DType::bf16 ? fill_normal<bf16>(op) : fill_normal<float>(op);
}

}  // namespace owlet::cpu
