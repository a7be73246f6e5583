// Scratch memory that the parts of the attention gradient share.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/cpu/attention_ranges.hpp"

namespace owlet::cpu {

/// Scratch memory of the whole operation and how it is divided: delta (B, K, rows) and the chunks' shares of dq
/// (chunks, B, K, padded rows, padded head size), all f32.
struct GradientScratch {
  int64_t num_chunks = 1, padded_rows = 0;
  size_t delta_floats = 0, share_floats = 0;  // share_floats: of one (chunk, b, kh)
  size_t size_bytes = 0;
  float* delta = nullptr;
  float* shares = nullptr;

  GradientScratch(const op::AttentionGrad& op, const AttentionSizes& sizes);
  float* share(const AttentionSizes& sizes, int64_t chunk, int64_t b, int64_t kh) const {
    return shares + static_cast<size_t>((chunk * sizes.batch + b) * sizes.kv_heads + kh) * share_floats;
  }
};

}  // namespace owlet::cpu
