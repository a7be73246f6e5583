// Embedding, its gradient, and CacheAppend: rows copied by index.
#include "backends/reference/kernels.hpp"
#include "base/error.hpp"

namespace owlet::reference {

namespace {

int64_t checked_token(const Tensor& tokens, int64_t n, int64_t num_rows) {
  const int64_t token = i32(tokens)[n];
  check(token >= 0 && token < num_rows, ErrorKind::invalid_argument,
        "embedding: token {} at position {} is outside [0, {})", token, n, num_rows);
  return token;
}

}  // namespace

void run(const op::Embedding& op) {
  const int64_t C = op.weight.dim(1);
  for (int64_t n = 0; n < op.tokens.num_elements(); ++n) {
    const int64_t token = checked_token(op.tokens, n, op.weight.dim(0));
    std::copy_n(f64(op.weight) + token * C, C, f64(op.y) + n * C);
  }
}

void run(const op::EmbeddingGrad& op) {
  double* dweight = begin_slot(op.dweight);
  if (dweight == nullptr) return;
  const int64_t C = op.dweight.tensor.dim(1);
  for (int64_t n = 0; n < op.tokens.num_elements(); ++n) {
    const int64_t token = checked_token(op.tokens, n, op.dweight.tensor.dim(0));
    for (int64_t c = 0; c < C; ++c) dweight[token * C + c] += f64(op.dy)[n * C + c];
  }
}

void run(const op::CacheAppend& op) {
  const int64_t B = op.rows.dim(0), T = op.rows.dim(1), S = op.cache.dim(1), row_size = op.rows.dim(2) * op.rows.dim(3);
  for (int64_t b = 0; b < B; ++b) {
    const int64_t length = i32(op.kv_lengths)[b];
    check(length >= T && length <= S, ErrorKind::invalid_argument,
          "cache_append: kv_lengths[{}] is {}, expected {} (new rows) to {} (cache size)", b, length, T, S);
    for (int64_t t = 0; t < T; ++t) {
      std::copy_n(f64(op.rows) + (b * T + t) * row_size, row_size, f64(op.cache) + (b * S + length - T + t) * row_size);
    }
  }
}

}  // namespace owlet::reference
