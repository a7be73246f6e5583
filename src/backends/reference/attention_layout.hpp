// Which keys a query sees, and where rows of heads begin: shared by attention's formulas and by its error bounds.
#pragma once

#include <algorithm>

#include "backends/reference/kernels.hpp"
#include "base/error.hpp"

namespace owlet::reference {

/// The keys [first, last] that one query sees.
struct VisibleKeys {
  int64_t first, last;
  int64_t count() const { return last - first + 1; }
};

/// Keys of query t in row b; see ops/attention.hpp. Throws Error invalid_argument for lengths or starts out of range.
inline VisibleKeys visible_keys(const Tensor& document_starts, const Tensor& kv_lengths, int64_t window, int64_t b,
                                int64_t t, int64_t T, int64_t S) {
  int64_t last = t;
  if (kv_lengths.defined()) {
    const int64_t length = i32(kv_lengths)[b];
    check(length >= T && length <= S, ErrorKind::invalid_argument,
          "attention: kv_lengths[{}] is {}, expected {} (queries) to {} (cache size)", b, length, T, S);
    last = length - T + t;
  }
  int64_t first = 0;
  if (document_starts.defined()) {
    first = i32(document_starts)[b * T + t];
    check(first >= 0 && first <= last, ErrorKind::invalid_argument,
          "attention: document_starts[{}, {}] is {}, expected 0 to {}", b, t, first, last);
  }
  if (window > 0) first = std::max(first, last - window + 1);
  return {first, last};
}

/// Sizes, and where the row of one (batch, time, query head) begins in q-like and k-like tensors.
struct AttentionLayout {
  int64_t B, T, H, D, S, K;

  AttentionLayout(const Tensor& q, const Tensor& k)
      : B(q.dim(0)), T(q.dim(1)), H(q.dim(2)), D(q.dim(3)), S(k.dim(1)), K(k.dim(2)) {}
  int64_t query(int64_t b, int64_t t, int64_t h) const { return ((b * T + t) * H + h) * D; }
  int64_t key(int64_t b, int64_t s, int64_t h) const { return ((b * S + s) * K + h / (H / K)) * D; }
  /// Index of a query's lse; times S the beginning of its row of probabilities.
  int64_t statistic(int64_t b, int64_t h, int64_t t) const { return (b * H + h) * T + t; }

  template <typename Body>
  void for_each_query(Body body) const {
    for (int64_t b = 0; b < B; ++b) {
      for (int64_t h = 0; h < H; ++h) {
        for (int64_t t = 0; t < T; ++t) body(b, h, t);
      }
    }
  }
};

}  // namespace owlet::reference
