// CacheAppend on the CPU: one copy per batch row, whose new entries stand side by side in the cache.
#include "backends/cpu/cast.hpp"
#include "backends/cpu/kernels.hpp"
#include "backends/cpu/streaming.hpp"
#include "base/error.hpp"
#include "base/parallel_for.hpp"

namespace owlet::cpu {

void run(const op::CacheAppend& op, KernelContext&) {
  const int64_t batch = op.rows.dim(0), tokens = op.rows.dim(1), capacity = op.cache.dim(1);
  const size_t entry_bytes = static_cast<size_t>(op.rows.dim(2) * op.rows.dim(3)) * size_of(op.rows.dtype());
  const int32_t* lengths = op.kv_lengths.data<int32_t>();
  for (int64_t b = 0; b < batch; ++b) {
    check(lengths[b] >= tokens && lengths[b] <= capacity, ErrorKind::invalid_argument,
          "cache_append: kv_lengths[{}] is {}, expected {} (new tokens) to {} (size of the cache)", b, lengths[b],
          tokens, capacity);
  }
  const size_t copied_bytes = static_cast<size_t>(tokens) * entry_bytes;
  if (copied_bytes == 0) return;
  const bool streams = is_streamed(op.rows);  // as large as what is written of the cache
  parallel_sweep(batch, 1, [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) {
      const auto entry = static_cast<size_t>(b * capacity + lengths[b] - tokens);
      copy_bytes(op.rows.bytes() + static_cast<size_t>(b) * copied_bytes, op.cache.bytes() + entry * entry_bytes,
                 copied_bytes, streams);
    }
  });
}

}  // namespace owlet::cpu
