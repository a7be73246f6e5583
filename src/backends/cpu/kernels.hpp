// One run() per operation: the inner face of the CPU backend. One .cpp file per op (or per op and its gradient).
#pragma once

#include "ops/any_op.hpp"
#include "ops/caching_allocator.hpp"

namespace owlet::cpu {

/// What kernels share: the allocator for scratch memory, oneDNN's engine, stream and cached primitives.
class KernelContext;

/// Elements of one parallel_for range in element-wise kernels: long enough to hide the cost of handing it out.
inline constexpr int64_t kElementsPerRange = 16384;
/// Rows of one range for rows of `columns` elements: about kElementsPerRange elements, at least one row.
constexpr int64_t rows_per_range(int64_t columns) {
  return columns >= kElementsPerRange || columns <= 0 ? 1 : kElementsPerRange / columns;
}

void run(const op::Embedding& op, KernelContext& kernel);
void run(const op::EmbeddingGrad& op, KernelContext& kernel);
void run(const op::RmsNorm& op, KernelContext& kernel);
void run(const op::RmsNormGrad& op, KernelContext& kernel);
void run(const op::LayerNorm& op, KernelContext& kernel);
void run(const op::LayerNormGrad& op, KernelContext& kernel);
void run(const op::Linear& op, KernelContext& kernel);
void run(const op::LinearInputGrad& op, KernelContext& kernel);
void run(const op::LinearWeightGrad& op, KernelContext& kernel);
void run(const op::Rope& op, KernelContext& kernel);
void run(const op::Attention& op, KernelContext& kernel);
void run(const op::AttentionGrad& op, KernelContext& kernel);
void run(const op::PlainAttention& op, KernelContext& kernel);
void run(const op::PlainAttentionGrad& op, KernelContext& kernel);
void run(const op::CacheAppend& op, KernelContext& kernel);
void run(const op::SwiGlu& op, KernelContext& kernel);
void run(const op::SwiGluGrad& op, KernelContext& kernel);
void run(const op::Gelu& op, KernelContext& kernel);
void run(const op::GeluGrad& op, KernelContext& kernel);
void run(const op::Add& op, KernelContext& kernel);
void run(const op::LinearCrossEntropy& op, KernelContext& kernel);
void run(const op::AdamW& op, KernelContext& kernel);
void run(const op::AdamW8bit& op, KernelContext& kernel);
void run(const op::Cast& op, KernelContext& kernel);
void run(const op::SplitWeight& op, KernelContext& kernel);
void run(const op::Fill& op, KernelContext& kernel);
void run(const op::FillNormal& op, KernelContext& kernel);
void run(const op::SquaredNorm& op, KernelContext& kernel);

/// Scratch bytes of an op; most need none. Overloads stand beside the kernels that need some.
template <typename Op>
size_t workspace_bytes(const Op&) {
  return 0;
}
size_t workspace_bytes(const op::RmsNormGrad& op);
size_t workspace_bytes(const op::LayerNormGrad& op);
size_t workspace_bytes(const op::Linear& op);
size_t workspace_bytes(const op::LinearInputGrad& op);
size_t workspace_bytes(const op::LinearWeightGrad& op);
size_t workspace_bytes(const op::LinearCrossEntropy& op);
size_t workspace_bytes(const op::AttentionGrad& op);
size_t workspace_bytes(const op::PlainAttentionGrad& op);

}  // namespace owlet::cpu
