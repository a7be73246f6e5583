// Sums over the rows of a matrix in a fixed order: rows are cut into blocks that depend on their number only, each
// block sums into its own row of scratch, and the blocks are added in their order.
#pragma once

#include <algorithm>
#include <cstdint>

#include "ops/cost.hpp"

namespace owlet::cpu {

/// The partition of `num_rows` rows: at most 64 blocks, of at least 32 rows.
struct RowBlocks {
  explicit RowBlocks(int64_t num_rows)
      : rows_per_block(std::max<int64_t>(32, (num_rows + 63) / 64)),
        num_blocks((num_rows + rows_per_block - 1) / rows_per_block) {}

  /// Scratch for `num_sums` vectors of `columns` f32 per block.
  size_t scratch_bytes(int64_t columns, int64_t num_sums) const {
    return static_cast<size_t>(num_blocks * columns * num_sums) * sizeof(float);
  }

  int64_t rows_per_block;
  int64_t num_blocks;
};

/// Adds partial_sums (num_blocks, columns) f32, each block `stride` elements behind the last, into the slot's f32
/// (columns) tensor. Does nothing where the slot is unwanted; zero blocks give zeros.
void combine_blocks(const float* partial_sums, int64_t num_blocks, int64_t columns, int64_t stride,
                    const GradientSlot& slot);

}  // namespace owlet::cpu
