// Which keys each query of an attention sees: the arithmetic of causality, documents, windows and caches, once for the
// forward and the backward kernel.
//
// The G = H / K query heads that share a key/value head are handled together: the rows of (batch b, key/value head kh)
// are r = t * G + g for token t and query head kh * G + g. Consecutive rows of a token are consecutive in memory.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "ops/attention.hpp"

namespace owlet::cpu {

/// Queries and keys that are handled together.
inline constexpr int64_t kQueryBlock = 64;
inline constexpr int64_t kKeyBlock = 64;
/// Rows of scratch matrices are padded to a multiple of this many floats, the longest vector.
inline constexpr int64_t kFloatPadding = 16;

inline int64_t round_up(int64_t value, int64_t unit) { return (value + unit - 1) / unit * unit; }

/// Sizes of an attention and its masks.
struct AttentionSizes {
  int64_t batch = 0, tokens = 0, keys = 0, heads = 0, kv_heads = 0, head_size = 0;
  int64_t group = 0;        // G, query heads per key/value head
  int64_t rows = 0;         // tokens * group
  int64_t padded_size = 0;  // head_size rounded up to kFloatPadding
  int64_t window = 0;
  const int32_t* document_starts = nullptr;
  const int32_t* kv_lengths = nullptr;

  /// Throws Error invalid_argument for a kv_length outside [tokens, keys] or a document that starts behind its token.
  explicit AttentionSizes(const op::Attention& op);
  explicit AttentionSizes(const op::AttentionGrad& op);
  explicit AttentionSizes(const op::PlainAttention& op);
  explicit AttentionSizes(const op::PlainAttentionGrad& op);

  int64_t row_blocks() const { return (rows + kQueryBlock - 1) / kQueryBlock; }
  /// Element offset of row r of (b, kh) in q, y and dq.
  int64_t query_offset(int64_t b, int64_t kh, int64_t r) const {
    return ((b * tokens + r / group) * heads + kh * group + r % group) * head_size;
  }
  /// Element offset of key s of (b, kh) in k and v; the next key is key_stride() further.
  int64_t key_offset(int64_t b, int64_t kh, int64_t s) const { return ((b * keys + s) * kv_heads + kh) * head_size; }
  int64_t key_stride() const { return kv_heads * head_size; }
  /// Index of row r of (b, kh) in lse.
  int64_t lse_offset(int64_t b, int64_t kh, int64_t r) const {
    return (b * heads + kh * group + r % group) * tokens + r / group;
  }

 private:
  AttentionSizes(const Tensor& q, const Tensor& k, const Tensor& starts, int64_t key_window);
  void use_lengths(const op::Attention& op);
  void check_documents() const;
};

/// query_offset() and lse_offset() of the rows [row_begin, row_end) of (b, kh), at most kQueryBlock of them; one
/// division for all.
struct RowOffsets {
  std::array<int64_t, kQueryBlock> query, lse;

  RowOffsets(const AttentionSizes& sizes, int64_t b, int64_t kh, int64_t row_begin, int64_t row_end);
};

/// Keys [first, last] that a query sees; a query always sees itself.
struct KeyRange {
  int32_t first = 0, last = 0;
};
KeyRange visible_keys(const AttentionSizes& sizes, int64_t b, int64_t token);

/// What a span of rows sees together: [first_min, last_max] at most, [first_max, last_min] every one of them.
struct RangeBounds {
  int32_t first_min = 0, first_max = 0, last_min = 0, last_max = 0;

  bool sees_any(int64_t key_begin, int64_t key_end) const { return first_min < key_end && last_max >= key_begin; }
  bool sees_all(int64_t key_begin, int64_t key_end) const { return first_max <= key_begin && last_min >= key_end - 1; }
};

/// The ranges of one block of rows. Rows behind the last one of a block see nothing.
struct BlockRanges {
  /// Rows whose bounds are kept together.
  static constexpr int64_t kGranule = 4;

  std::array<int32_t, kQueryBlock> first, last;
  std::array<RangeBounds, kQueryBlock / kGranule> tiles;
  RangeBounds all;

  /// Rows [row_begin, row_end) of batch row b, at most kQueryBlock of them.
  BlockRanges(const AttentionSizes& sizes, int64_t b, int64_t row_begin, int64_t row_end);
  /// Bounds of rows [begin, end) of the block; begin is a multiple of kGranule. Rows without a query do not count.
  RangeBounds bounds(int64_t begin, int64_t end) const;
};

/// The ranges of all blocks of rows of batch row b, in order.
std::vector<BlockRanges> all_block_ranges(const AttentionSizes& sizes, int64_t b);

}  // namespace owlet::cpu
