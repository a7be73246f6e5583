#include "ops/attention.hpp"

#include <algorithm>

#include "ops/any_op.hpp"
#include "ops/checks.hpp"

namespace owlet {
namespace op {
namespace {

void check_heads(std::string_view name, const Tensor& q, const Tensor& k, const Tensor& v) {
  check_activation(name, "q", q);
  check_rank(name, "q", q, 4);
  check_rank(name, "k", k, 4);
  check_shape(name, "k", k, {q.dim(0), k.dim(1), k.dim(2), q.dim(3)});
  check_shape(name, "v", v, k.shape());
  check_dtype(name, "k", k, {q.dtype()});
  check_dtype(name, "v", v, {q.dtype()});
  owlet::check(k.dim(2) > 0 && q.dim(2) % k.dim(2) == 0, ErrorKind::invalid_argument,
               "{}: {} query heads are not a multiple of {} key/value heads", name, q.dim(2), k.dim(2));
}

void check_training_length(std::string_view name, const Tensor& q, const Tensor& k) {
  owlet::check(q.dim(1) == k.dim(1), ErrorKind::invalid_argument, "{}: {} queries for {} keys per row", name, q.dim(1),
               k.dim(1));
}

void check_window(std::string_view name, int64_t window) {
  owlet::check(window >= 0, ErrorKind::invalid_argument, "{}: window is {}, expected 0 (all keys) or more", name,
               window);
}

void check_documents(std::string_view name, const Tensor& starts, const Tensor& q) {
  if (!starts.defined()) return;
  check_shape(name, "document_starts", starts, {q.dim(0), q.dim(1)});
  check_dtype(name, "document_starts", starts, {DType::i32});
}

/// Query-key pairs that causality and the window leave, per head and row; document borders only lower it.
double visible_pairs(int64_t queries, int64_t keys, int64_t window) {
  double pairs = 0;
  const int64_t reach = window > 0 ? window : keys;
  for (int64_t t = 0; t < queries; ++t) pairs += static_cast<double>(std::min(keys - queries + t + 1, reach));
  return pairs;
}

/// FLOPs of `products` products of D numbers for each visible pair of all heads and rows.
double pair_flops(const Tensor& q, const Tensor& k, int64_t window, double products) {
  const double heads = static_cast<double>(q.dim(0) * q.dim(2));
  return 2.0 * products * heads * visible_pairs(q.dim(1), k.dim(1), window) * static_cast<double>(q.dim(3));
}

}  // namespace

void Attention::check() const {
  check_heads(kName, q, k, v);
  check_shape(kName, "y", y, q.shape());
  check_dtype(kName, "y", y, {q.dtype()});
  check_f32_beside(kName, "lse", lse, {q.dim(0), q.dim(2), q.dim(1)}, q);
  check_documents(kName, document_starts, q);
  check_window(kName, window);
  if (kv_lengths.defined()) {
    check_shape(kName, "kv_lengths", kv_lengths, {q.dim(0)});
    check_dtype(kName, "kv_lengths", kv_lengths, {DType::i32});
  } else {
    check_training_length(kName, q, k);
  }
}

Cost Attention::cost() const {
  return {pair_flops(q, k, window, 2), bytes_of({&q, &k, &v, &document_starts}), bytes_of({&y, &lse})};
}

void AttentionGrad::check() const {
  check_heads(kName, q, k, v);
  check_training_length(kName, q, k);
  for (const auto& [name, tensor] : {std::pair<std::string_view, const Tensor&>{"dy", dy}, {"y", y}}) {
    check_shape(kName, name, tensor, q.shape());
    check_dtype(kName, name, tensor, {q.dtype()});
  }
  check_f32_beside(kName, "lse", lse, {q.dim(0), q.dim(2), q.dim(1)}, q);
  check_documents(kName, document_starts, q);
  check_window(kName, window);
  check_slot(kName, "dq", dq, q);
  check_slot(kName, "dk", dk, k);
  check_slot(kName, "dv", dv, v);
}

Cost AttentionGrad::cost() const {
  // Scores and <dy, v> again, then dq, dk and dv: five products per pair.
  return {pair_flops(q, k, window, 5),
          bytes_of({&dy, &q, &k, &v, &y, &lse, &document_starts}) + dq.bytes_read() + dk.bytes_read() + dv.bytes_read(),
          dq.bytes_written() + dk.bytes_written() + dv.bytes_written()};
}

void PlainAttention::check() const {
  check_heads(kName, q, k, v);
  check_training_length(kName, q, k);
  check_shape(kName, "y", y, q.shape());
  check_dtype(kName, "y", y, {q.dtype()});
  check_shape(kName, "probabilities", probabilities, {q.dim(0), q.dim(2), q.dim(1), q.dim(1)});
  check_dtype(kName, "probabilities", probabilities, {q.dtype()});
  check_documents(kName, document_starts, q);
  check_window(kName, window);
}

Cost PlainAttention::cost() const {
  const double all_pairs = static_cast<double>(probabilities.num_elements());
  return {4.0 * all_pairs * static_cast<double>(q.dim(3)), bytes_of({&q, &k, &v, &probabilities}),
          bytes_of({&y, &probabilities})};
}

void PlainAttentionGrad::check() const {
  check_heads(kName, q, k, v);
  check_training_length(kName, q, k);
  check_shape(kName, "dy", dy, q.shape());
  check_dtype(kName, "dy", dy, {q.dtype()});
  check_shape(kName, "probabilities", probabilities, {q.dim(0), q.dim(2), q.dim(1), q.dim(1)});
  check_dtype(kName, "probabilities", probabilities, {q.dtype()});
  check_slot(kName, "dq", dq, q);
  check_slot(kName, "dk", dk, k);
  check_slot(kName, "dv", dv, v);
}

Cost PlainAttentionGrad::cost() const {
  const double all_pairs = static_cast<double>(probabilities.num_elements());
  return {8.0 * all_pairs * static_cast<double>(q.dim(3)),
          bytes_of({&dy, &q, &k, &v, &probabilities}) + dq.bytes_read() + dk.bytes_read() + dv.bytes_read(),
          dq.bytes_written() + dk.bytes_written() + dv.bytes_written()};
}

void CacheAppend::check() const {
  check_activation(kName, "rows", rows);
  check_rank(kName, "rows", rows, 4);
  check_rank(kName, "cache", cache, 4);
  check_shape(kName, "cache", cache, {rows.dim(0), cache.dim(1), rows.dim(2), rows.dim(3)});
  check_dtype(kName, "cache", cache, {rows.dtype()});
  check_shape(kName, "kv_lengths", kv_lengths, {rows.dim(0)});
  check_dtype(kName, "kv_lengths", kv_lengths, {DType::i32});
}

Cost CacheAppend::cost() const { return {0, bytes_of({&rows}), bytes_of({&rows})}; }

}  // namespace op

namespace {

Tensor plain_attention(Context& ctx, const Tensor& q, const Tensor& k, const Tensor& v,
                       const AttentionOptions& options) {
  Tensor y = ctx.empty_like(q);
  Tensor probabilities = ctx.empty({q.dim(0), q.dim(2), q.dim(1), q.dim(1)}, q.dtype());
  ctx.run(op::PlainAttention{q, k, v, y, probabilities, options.document_starts, options.scale, options.window});
  ctx.on_backward({q, k, v}, {y}, [=, scale = options.scale, y = y.without_memory()](Context& c) {
    c.run(op::PlainAttentionGrad{c.grad(y), q, k, v, probabilities, scale, c.slot(q), c.slot(k), c.slot(v)});
  });
  return y;
}

}  // namespace

Tensor attention(Context& ctx, const Tensor& q, const Tensor& k, const Tensor& v, const AttentionOptions& options) {
  if (options.kind == AttentionKind::plain) return plain_attention(ctx, q, k, v, options);
  Tensor y = ctx.empty_like(q);
  Tensor lse = ctx.empty({q.dim(0), q.dim(2), q.dim(1)}, q.dtype() == DType::f64 ? DType::f64 : DType::f32);
  ctx.run(op::Attention{q, k, v, y, lse, options.document_starts, {}, options.scale, options.window});
  ctx.on_backward({q, k, v}, {y}, [=](Context& c) {
    c.run(op::AttentionGrad{c.grad(y), q, k, v, y, lse, options.document_starts, options.scale, options.window,
                            c.slot(q), c.slot(k), c.slot(v)});
  });
  return y;
}

Tensor cached_attention(Context& ctx, const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& k_cache,
                        const Tensor& v_cache, const Tensor& kv_lengths, const AttentionOptions& options) {
  check(!ctx.is_recording(), ErrorKind::internal, "attention over a cache has no backward");
  ctx.run(op::CacheAppend{k, kv_lengths, k_cache});
  ctx.run(op::CacheAppend{v, kv_lengths, v_cache});
  Tensor y = ctx.empty_like(q);
  Tensor lse = ctx.empty({q.dim(0), q.dim(2), q.dim(1)}, q.dtype() == DType::f64 ? DType::f64 : DType::f32);
  ctx.run(op::Attention{q, k_cache, v_cache, y, lse, {}, kv_lengths, options.scale, options.window});
  return y;
}

}  // namespace owlet
