// Attention on processors with bf16 dot products (x86-64 AVX512_BF16). Called only where has_bf16_products() is true
// and the operands are bf16.
#pragma once

#include <cstdint>

#include "backends/cpu/attention_grad_scratch.hpp"
#include "backends/cpu/attention_ranges.hpp"

namespace owlet::cpu {

/// One block of queries of one key/value head, forward; see attention.cpp.
void attend_query_block_bf16(const op::Attention& op, const AttentionSizes& sizes, int64_t b, int64_t kh,
                             int64_t block);

/// One chunk of key blocks of one key/value head, backward; see attention_grad.cpp.
void compute_chunk_bf16(const op::AttentionGrad& op, const AttentionSizes& sizes, const GradientScratch& shared,
                        int64_t b, int64_t kh, int64_t chunk);

}  // namespace owlet::cpu
