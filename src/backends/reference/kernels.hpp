// One run() per operation in float64, and what the loops share. One .cpp file per family of operations.
#pragma once

#include <algorithm>
#include <cstdint>

#include "ops/any_op.hpp"

namespace owlet::reference {

void run(const op::Embedding& op);
void run(const op::EmbeddingGrad& op);
void run(const op::RmsNorm& op);
void run(const op::RmsNormGrad& op);
void run(const op::LayerNorm& op);
void run(const op::LayerNormGrad& op);
void run(const op::Linear& op);
void run(const op::LinearInputGrad& op);
void run(const op::LinearWeightGrad& op);
void run(const op::Rope& op);
void run(const op::Attention& op);
void run(const op::AttentionGrad& op);
void run(const op::PlainAttention& op);
void run(const op::PlainAttentionGrad& op);
void run(const op::CacheAppend& op);
void run(const op::SwiGlu& op);
void run(const op::SwiGluGrad& op);
void run(const op::Gelu& op);
void run(const op::GeluGrad& op);
void run(const op::Add& op);
void run(const op::LinearCrossEntropy& op);
void run(const op::AdamW& op);
void run(const op::AdamW8bit& op);
void run(const op::Cast& op);
void run(const op::SplitWeight& op);
void run(const op::Fill& op);
void run(const op::FillNormal& op);
void run(const op::SquaredNorm& op);

inline double* f64(const Tensor& tensor) { return tensor.data<double>(); }
inline const int32_t* i32(const Tensor& tensor) { return tensor.data<int32_t>(); }

/// The slot's elements, ready to be added to: as they are when accumulating, else set to 0. Null when unwanted.
inline double* begin_slot(const GradientSlot& slot) {
  if (!slot.is_wanted()) return nullptr;
  double* values = f64(slot.tensor);
  if (!slot.accumulate) std::fill_n(values, slot.tensor.num_elements(), 0.0);
  return values;
}

}  // namespace owlet::reference
