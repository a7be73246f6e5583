#include "backends/cpu/attention_ranges.hpp"

#include <algorithm>
#include <limits>

#include "base/error.hpp"

namespace owlet::cpu {
namespace {

constexpr RangeBounds kSeesNothing{std::numeric_limits<int32_t>::max(), std::numeric_limits<int32_t>::min(),
                                   std::numeric_limits<int32_t>::max(), std::numeric_limits<int32_t>::min()};

RangeBounds merge(const RangeBounds& a, const RangeBounds& b) {
  return {std::min(a.first_min, b.first_min), std::max(a.first_max, b.first_max), std::min(a.last_min, b.last_min),
          std::max(a.last_max, b.last_max)};
}

}  // namespace

AttentionSizes::AttentionSizes(const Tensor& q, const Tensor& k, const Tensor& starts, int64_t key_window)
    : batch(q.dim(0)),
      tokens(q.dim(1)),
      keys(k.dim(1)),
      heads(q.dim(2)),
      kv_heads(k.dim(2)),
      head_size(q.dim(3)),
      group(heads / kv_heads),
      rows(tokens * group),
      padded_size(round_up(head_size, kFloatPadding)),
      window(key_window) {
  if (starts.defined()) document_starts = starts.data<int32_t>();
}

AttentionSizes::AttentionSizes(const op::Attention& op) : AttentionSizes(op.q, op.k, op.document_starts, op.window) {
  if (op.kv_lengths.defined()) use_lengths(op);
  check_documents();
}

void AttentionSizes::use_lengths(const op::Attention& op) {
  kv_lengths = op.kv_lengths.data<int32_t>();
  for (int64_t b = 0; b < batch; ++b) {
    check(kv_lengths[b] >= tokens && kv_lengths[b] <= keys, ErrorKind::invalid_argument,
          "attention: kv_lengths[{}] is {}, expected {} (new tokens) to {} (size of the cache)", b, kv_lengths[b],
          tokens, keys);
  }
}

AttentionSizes::AttentionSizes(const op::AttentionGrad& op)
    : AttentionSizes(op.q, op.k, op.document_starts, op.window) {
  check_documents();
}
AttentionSizes::AttentionSizes(const op::PlainAttention& op)
    : AttentionSizes(op.q, op.k, op.document_starts, op.window) {
  check_documents();
}
AttentionSizes::AttentionSizes(const op::PlainAttentionGrad& op) : AttentionSizes(op.q, op.k, {}, 0) {}

void AttentionSizes::check_documents() const {
  if (document_starts == nullptr) return;
  for (int64_t i = 0; i < batch * tokens; ++i) {
    const int64_t position = (kv_lengths ? kv_lengths[i / tokens] - tokens : 0) + i % tokens;
    check(document_starts[i] >= 0 && document_starts[i] <= position, ErrorKind::invalid_argument,
          "attention: document_starts[{}, {}] is {}, expected 0 to {}", i / tokens, i % tokens, document_starts[i],
          position);
  }
}

RowOffsets::RowOffsets(const AttentionSizes& sizes, int64_t b, int64_t kh, int64_t row_begin, int64_t row_end) {
  int64_t head = row_begin % sizes.group;
  int64_t query_at = sizes.query_offset(b, kh, row_begin), lse_at = sizes.lse_offset(b, kh, row_begin);
  for (int64_t row = row_begin; row < row_end; ++row) {
    const auto i = static_cast<size_t>(row - row_begin);
    query[i] = query_at;
    lse[i] = lse_at;
    query_at += sizes.head_size;
    lse_at += sizes.tokens;
    if (++head == sizes.group) {  // the next token
      head = 0;
      query_at += (sizes.heads - sizes.group) * sizes.head_size;
      lse_at += 1 - sizes.group * sizes.tokens;
    }
  }
}

KeyRange visible_keys(const AttentionSizes& sizes, int64_t b, int64_t token) {
  const int64_t last = (sizes.kv_lengths ? sizes.kv_lengths[b] - sizes.tokens : 0) + token;
  int64_t first = 0;
  if (sizes.window > 0) first = std::max(first, last - sizes.window + 1);
  if (sizes.document_starts) first = std::max<int64_t>(first, sizes.document_starts[b * sizes.tokens + token]);
  return {static_cast<int32_t>(std::min(first, last)), static_cast<int32_t>(last)};
}

BlockRanges::BlockRanges(const AttentionSizes& sizes, int64_t b, int64_t row_begin, int64_t row_end) {
  first.fill(kSeesNothing.first_min);
  last.fill(kSeesNothing.last_max);
  tiles.fill(kSeesNothing);
  all = kSeesNothing;
  int64_t token = row_begin / sizes.group, head = row_begin % sizes.group;
  for (int64_t row = row_begin; row < row_end; ++row) {
    const auto i = static_cast<size_t>(row - row_begin);
    const KeyRange range = visible_keys(sizes, b, token);
    if (++head == sizes.group) {
      head = 0;
      token += 1;
    }
    first[i] = range.first;
    last[i] = range.last;
    RangeBounds& tile = tiles[i / kGranule];
    tile = merge(tile, {range.first, range.first, range.last, range.last});
  }
  for (const RangeBounds& tile : tiles) all = merge(all, tile);
}

RangeBounds BlockRanges::bounds(int64_t begin, int64_t end) const {
  RangeBounds result = kSeesNothing;
  for (int64_t tile = begin / kGranule; tile * kGranule < end; ++tile) {
    result = merge(result, tiles[static_cast<size_t>(tile)]);
  }
  return result;
}

std::vector<BlockRanges> all_block_ranges(const AttentionSizes& sizes, int64_t b) {
  std::vector<BlockRanges> blocks;
  for (int64_t begin = 0; begin < sizes.rows; begin += kQueryBlock) {
    blocks.emplace_back(sizes, b, begin, std::min(begin + kQueryBlock, sizes.rows));
  }
  return blocks;
}

}  // namespace owlet::cpu
