// Embedding and its gradient on the CPU.
#include <cstring>

#include "backends/cpu/cast.hpp"
#include "backends/cpu/kernels.hpp"
#include "backends/cpu/simd_targets.hpp"
#include "backends/cpu/streaming.hpp"
#include "base/error.hpp"
#include "base/parallel_for.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/embedding.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
//
#include "backends/cpu/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace owlet::cpu::HWY_NAMESPACE {

/// Adds the columns [begin, end) of all rows of dy, in the order of the tokens.
template <typename T>
void embedding_grad_columns_of(const op::EmbeddingGrad& op, int64_t begin, int64_t end) {
  const int64_t num_columns = op.dy.columns(), num_tokens = op.tokens.num_elements();
  const auto width = static_cast<size_t>(end - begin);
  const int32_t* tokens = op.tokens.data<int32_t>();
  float* dweight = op.dweight.tensor.data<float>() + begin;
  const T* dy = op.dy.data<T>() + begin;
  for (int64_t n = 0; n < num_tokens; ++n) {
    const T* source = dy + n * num_columns;
    float* target = dweight + tokens[n] * num_columns;
    for_each_vector(width, [&](size_t i, auto lanes) HWY_ATTR {
      store(lanes, hn::Add(load(lanes, target + i), load(lanes, source + i)), target + i);
    });
  }
}

void embedding_grad_columns(const op::EmbeddingGrad& op, int64_t begin, int64_t end) {
  if (op.dy.dtype() == DType::bf16) return embedding_grad_columns_of<bf16>(op, begin, end);
  embedding_grad_columns_of<float>(op, begin, end);
}

}  // namespace owlet::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace owlet::cpu {

namespace {

/// Columns of one thread: whole cache lines of f32. Every element is summed in the order of the tokens, whatever this
/// is.
int64_t columns_per_range(int64_t columns) {
  constexpr int64_t kMultiple = 16;
  const int64_t share = (columns + num_threads() - 1) / num_threads();
  return (share + kMultiple - 1) / kMultiple * kMultiple;
}

void check_tokens(const char* op, const Tensor& tokens, int64_t vocabulary) {
  const auto ids = tokens.span<const int32_t>();
  for (size_t i = 0; i < ids.size(); ++i) {
    check(0 <= ids[i] && ids[i] < vocabulary, ErrorKind::invalid_argument,
          "{}: token id {} at position {} is outside the vocabulary of {}", op, ids[i], i, vocabulary);
  }
}

}  // namespace

HWY_EXPORT(embedding_grad_columns);

void run(const op::Embedding& op, KernelContext&) {
  check_tokens("embedding", op.tokens, op.weight.dim(0));
  const int32_t* tokens = op.tokens.data<int32_t>();
  const bool streams = is_streamed(op.y);
  const size_t row_bytes = static_cast<size_t>(op.weight.dim(1)) * size_of(op.weight.dtype());
  parallel_sweep(op.tokens.num_elements(), rows_per_range(op.weight.dim(1)), [&](int64_t begin, int64_t end) {
    for (int64_t n = begin; n < end; ++n) {
      copy_bytes(op.weight.bytes() + static_cast<size_t>(tokens[n]) * row_bytes,
                 op.y.bytes() + static_cast<size_t>(n) * row_bytes, row_bytes, streams);
    }
  });
}

void run(const op::EmbeddingGrad& op, KernelContext&) {
  if (!op.dweight.is_wanted()) return;
  const Tensor& dweight = op.dweight.tensor;
  check_tokens("embedding_grad", op.tokens, dweight.dim(0));
  if (!op.dweight.accumulate) {
    parallel_sweep(dweight.num_elements(), kElementsPerRange, [&](int64_t begin, int64_t end) {
      std::memset(dweight.data<float>() + begin, 0, static_cast<size_t>(end - begin) * sizeof(float));
    });
  }
  parallel_for(op.dy.columns(), columns_per_range(op.dy.columns()), [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(embedding_grad_columns)(op, begin, end);
  });
}

}  // namespace owlet::cpu
#endif
