// The attention kernels against the definition in ops/attention.hpp, computed by a double loop in double precision.
// Bounds on the error grow with the sums of absolute values that each result is made of.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "backends/cpu/attention_ranges.hpp"
#include "backends/cpu/instruction_set.hpp"
#include "backends/cpu/kernel_context.hpp"
#include "backends/cpu/kernels.hpp"
#include "base/error.hpp"
#include "base/parallel_for.hpp"
#include "base/random.hpp"

namespace owlet::cpu {
namespace {

constexpr double kU = unit_roundoff(DType::f32);

struct Case {
  int64_t batch = 1, tokens = 1, keys = 1, heads = 1, kv_heads = 1, head_size = 8;
  int64_t window = 0;
  bool has_documents = false;
  /// Keys are a cache of which row b holds a different part.
  bool has_cache = false;
  DType dtype = DType::f32;
};

void PrintTo(const Case& c, std::ostream* out) {
  *out << fmt::format("B={} T={} S={} H={} K={} D={} window={} documents={} cache={} {}", c.batch, c.tokens, c.keys,
                      c.heads, c.kv_heads, c.head_size, c.window, c.has_documents, c.has_cache, to_string(c.dtype));
}

Tensor random_tensor(const Shape& shape, DType dtype, uint64_t stream) {
  const Tensor tensor = make_host_tensor(shape, dtype);
  for (int64_t i = 0; i < tensor.num_elements(); ++i)
    set_element(tensor, i, random_normal(7, stream, static_cast<uint64_t>(i)));
  return tensor;
}

Tensor nan_tensor(const Shape& shape, DType dtype) {
  const Tensor tensor = make_host_tensor(shape, dtype);
  for (int64_t i = 0; i < tensor.num_elements(); ++i) set_element(tensor, i, std::nan(""));
  return tensor;
}

struct Inputs {
  op::Attention forward;
  Tensor dy;
};

Inputs make_inputs(const Case& c) {
  Inputs in;
  op::Attention& op = in.forward;
  const Shape query_shape{c.batch, c.tokens, c.heads, c.head_size}, key_shape{c.batch, c.keys, c.kv_heads, c.head_size};
  op.q = random_tensor(query_shape, c.dtype, 1);
  op.k = random_tensor(key_shape, c.dtype, 2);
  op.v = random_tensor(key_shape, c.dtype, 3);
  in.dy = random_tensor(query_shape, c.dtype, 4);
  op.y = nan_tensor(query_shape, c.dtype);
  op.lse = nan_tensor({c.batch, c.heads, c.tokens}, DType::f32);
  op.scale = 1.5f / std::sqrt(static_cast<float>(c.head_size));
  op.window = c.window;
  if (c.has_documents) {
    op.document_starts = make_host_tensor({c.batch, c.tokens}, DType::i32);
    for (int64_t b = 0; b < c.batch; ++b) {
      int64_t start = 0;
      for (int64_t t = 0; t < c.tokens; ++t) {
        if ((t * 7 + b * 3) % 23 == 22) start = t;
        set_element(op.document_starts, b * c.tokens + t, static_cast<double>(start));
      }
    }
  }
  if (c.has_cache) {
    op.kv_lengths = make_host_tensor({c.batch}, DType::i32);
    for (int64_t b = 0; b < c.batch; ++b) {
      const int64_t length = std::max(c.tokens, c.keys - 11 * b);
      set_element(op.kv_lengths, b, static_cast<double>(length));
      for (int64_t i = (b * c.keys + length) * c.kv_heads * c.head_size;
           i < (b + 1) * c.keys * c.kv_heads * c.head_size; ++i) {  // behind the length there is anything
        set_element(op.k, i, std::nan(""));
        set_element(op.v, i, std::nan(""));
      }
    }
  }
  return in;
}

struct Expected {
  std::vector<double> value, bound;
  explicit Expected(int64_t count) : value(static_cast<size_t>(count)), bound(static_cast<size_t>(count)) {}
  void add(int64_t i, double term, double error) {
    value[static_cast<size_t>(i)] += term;
    bound[static_cast<size_t>(i)] += error;
  }
};

void expect_close(const Tensor& actual, const Expected& expected, const char* name) {
  for (int64_t i = 0; i < actual.num_elements(); ++i) {
    const double value = expected.value[static_cast<size_t>(i)];
    const double bound =
        expected.bound[static_cast<size_t>(i)] + unit_roundoff(actual.dtype()) * std::abs(value) + 1e-30;
    const double difference = std::abs(element_as_double(actual, i) - value);
    ASSERT_TRUE(difference <= bound) << name << "[" << i << "] is " << element_as_double(actual, i) << ", expected "
                                     << value << " within " << bound;
  }
}

struct Dot {
  double value = 0, magnitude = 0;
};
Dot dot(const Tensor& a, int64_t a_offset, const Tensor& b, int64_t b_offset, int64_t count) {
  Dot result;
  for (int64_t d = 0; d < count; ++d) {
    const double product = element_as_double(a, a_offset + d) * element_as_double(b, b_offset + d);
    result.value += product;
    result.magnitude += std::abs(product);
  }
  return result;
}

/// Relative error of weights and score gradients as factors of products: with bf16 dot products they are rounded.
double factor_rounding(DType dtype) {
  return dtype == DType::bf16 && cpu::has_bf16_products() ? unit_roundoff(DType::bf16) : 0;
}

/// Relative error of exponentials: with bf16 dot products they come from a polynomial made for bf16 results.
double exponential_error(DType dtype) { return dtype == DType::bf16 && cpu::has_bf16_products() ? 3e-6 : 0; }

/// Calls visit(b, h, t, query offset, lse index, first key, last key) for every query.
template <typename Visit>
void for_queries(const op::Attention& op, const Visit& visit) {
  const int64_t tokens = op.q.dim(1), heads = op.q.dim(2), size = op.q.dim(3);
  for (int64_t b = 0; b < op.q.dim(0); ++b) {
    for (int64_t h = 0; h < heads; ++h) {
      for (int64_t t = 0; t < tokens; ++t) {
        int64_t last = t, first = 0;
        if (op.kv_lengths.defined()) last += op.kv_lengths.data<int32_t>()[b] - tokens;
        if (op.window > 0) first = std::max(first, last - op.window + 1);
        if (op.document_starts.defined())
          first = std::max<int64_t>(first, op.document_starts.data<int32_t>()[b * tokens + t]);
        visit(b, h, ((b * tokens + t) * heads + h) * size, (b * heads + h) * tokens + t, first, last);
      }
    }
  }
}

int64_t key_offset(const op::Attention& op, int64_t b, int64_t h, int64_t s) {
  const int64_t kv_heads = op.k.dim(2);
  return ((b * op.k.dim(1) + s) * kv_heads + h / (op.q.dim(2) / kv_heads)) * op.k.dim(3);
}

void check_forward(const op::Attention& op) {
  const int64_t size = op.q.dim(3);
  const double exponential = exponential_error(op.q.dtype());
  const double rounding = factor_rounding(op.q.dtype()) + 2 * exponential;
  Expected y(op.y.num_elements()), lse(op.lse.num_elements());
  for_queries(op, [&](int64_t b, int64_t h, int64_t query, int64_t row, int64_t first, int64_t last) {
    std::vector<double> scores;
    double maximum = -1e300, score_error = 0, total = 0;
    for (int64_t s = first; s <= last; ++s) {
      const Dot score = dot(op.q, query, op.k, key_offset(op, b, h, s), size);
      scores.push_back(score.value * op.scale);
      maximum = std::max(maximum, scores.back());
      score_error = std::max(score_error, (static_cast<double>(size) + 4) * kU * score.magnitude * op.scale);
    }
    for (double& score : scores) total += score = std::exp(score - maximum);
    const double count = static_cast<double>(scores.size());
    lse.add(row, maximum + std::log(total), score_error + exponential + (count + 8) * kU + 4 * kU * std::abs(maximum));
    for (int64_t s = first; s <= last; ++s) {
      const double weight = scores[static_cast<size_t>(s - first)] / total;
      for (int64_t d = 0; d < size; ++d) {
        const double term = weight * element_as_double(op.v, key_offset(op, b, h, s) + d);
        y.add(query + d, term, std::abs(term) * (2 * score_error + (count + 16) * kU + rounding));
      }
    }
  });
  expect_close(op.y, y, "y");
  expect_close(op.lse, lse, "lse");
}

op::AttentionGrad make_grad(const Inputs& in, DType slot_type, bool accumulate) {
  const op::Attention& f = in.forward;
  op::AttentionGrad grad{in.dy, f.q, f.k, f.v, f.y, f.lse, f.document_starts, f.scale, f.window, {}, {}, {}};
  uint64_t stream = 10;
  for (auto& [slot, like] : {std::pair<GradientSlot&, const Tensor&>{grad.dq, f.q}, {grad.dk, f.k}, {grad.dv, f.v}}) {
    slot.accumulate = accumulate;
    slot.tensor = accumulate ? random_tensor(like.shape(), slot_type, stream++) : nan_tensor(like.shape(), slot_type);
  }
  return grad;
}

/// Runs the gradient and compares. The reference takes y and lse as given, as the kernel does.
void check_backward(const Inputs& in, DType slot_type, bool accumulate) {
  const op::Attention& f = in.forward;
  op::AttentionGrad grad = make_grad(in, slot_type, accumulate);
  const int64_t size = f.q.dim(3);
  Expected dq(f.q.num_elements()), dk(f.k.num_elements()), dv(f.v.num_elements());
  const auto start = [&](Expected& expected, const Tensor& tensor) {
    if (!accumulate) return;
    for (int64_t i = 0; i < tensor.num_elements(); ++i) {
      const double value = element_as_double(tensor, i);
      expected.add(i, value, std::abs(value) * kU);
    }
  };
  start(dq, grad.dq.tensor);
  start(dk, grad.dk.tensor);
  start(dv, grad.dv.tensor);
  const double rounding = factor_rounding(f.q.dtype()) + exponential_error(f.q.dtype());
  const double terms = static_cast<double>(f.q.dim(1) * f.q.dim(2) + size) + 32;
  for_queries(f, [&](int64_t b, int64_t h, int64_t query, int64_t row, int64_t first, int64_t last) {
    const Dot delta = dot(in.dy, query, f.y, query, size);
    const double lse = element_as_double(f.lse, row);
    for (int64_t s = first; s <= last; ++s) {
      const int64_t key = key_offset(f, b, h, s);
      const Dot score = dot(f.q, query, f.k, key, size), dp = dot(in.dy, query, f.v, key, size);
      const double weight = std::exp(score.value * f.scale - lse);
      const double relative = terms * kU * (1 + score.magnitude * f.scale + std::abs(lse));
      const double dscore = weight * (dp.value - delta.value);
      const double dscore_error =
          (relative + rounding) * std::abs(dscore) + weight * terms * kU * (dp.magnitude + delta.magnitude);
      for (int64_t d = 0; d < size; ++d) {
        const double q = element_as_double(f.q, query + d), k = element_as_double(f.k, key + d);
        const double dy = element_as_double(in.dy, query + d);
        dv.add(key + d, weight * dy, (relative + rounding) * std::abs(weight * dy));
        dq.add(query + d, f.scale * dscore * k, f.scale * dscore_error * std::abs(k));
        dk.add(key + d, f.scale * dscore * q, f.scale * dscore_error * std::abs(q));
      }
    }
  });
  CachingAllocator allocator(make_system_memory_source());
  KernelContext kernel(allocator);
  run(grad, kernel);
  EXPECT_EQ(allocator.statistics().in_use_bytes, 0u);
  expect_close(grad.dq.tensor, dq, "dq");
  expect_close(grad.dk.tensor, dk, "dk");
  expect_close(grad.dv.tensor, dv, "dv");
}

std::vector<Case> cases() {
  std::vector<Case> result;
  for (const DType dtype : {DType::f32, DType::bf16}) {
    const auto add = [&](Case c) {
      c.dtype = dtype;
      result.push_back(c);
    };
    for (const int64_t size : {2, 16, 24, 48, 64, 80, 128, 256, 300}) add({1, 19, 19, 2, 1, size});
    for (const int64_t tokens : {1, 2, 5, 15, 16, 17, 63, 64, 65}) {
      add({2, tokens, tokens, 4, 2, 20});
      add({1, tokens, tokens, 3, 3, 16, 9});
      add({1, tokens, tokens, 3, 1, 34, 0, true});
    }
    add({1, 150, 150, 2, 1, 16, 40, true});
    for (const int64_t tokens : {1, 2, 7, 70}) {
      for (const int64_t heads : {1, 3, 6}) {
        add({3, tokens, 200, heads, 1, 24, 0, false, true});
        add({2, tokens, 150, 2 * heads, 2, 16, 33, false, true});
      }
    }
  }
  return result;
}

/// On one thread: small shapes on a busy machine would mostly wait for each other's threads.
class AttentionCase : public testing::TestWithParam<Case> {
 protected:
  AttentionCase() : threads_before_(num_threads()) { set_num_threads(1); }
  ~AttentionCase() override { set_num_threads(threads_before_); }

 private:
  const int threads_before_;
};

TEST_P(AttentionCase, equals_the_definition) {
  CachingAllocator allocator(make_system_memory_source());
  KernelContext kernel(allocator);
  const Inputs in = make_inputs(GetParam());
  in.forward.check();
  run(in.forward, kernel);
  check_forward(in.forward);
  if (GetParam().has_cache) return;
  check_backward(in, GetParam().dtype, false);
  check_backward(in, DType::f32, true);
}

INSTANTIATE_TEST_SUITE_P(Shapes, AttentionCase, testing::ValuesIn(cases()));

/// Scores that climb or fall from key to key by far more than a sum of exponentials can hold.
TEST(Attention, follows_scores_wherever_they_go) {
  CachingAllocator allocator(make_system_memory_source());
  KernelContext kernel(allocator);
  for (const DType dtype : {DType::f32, DType::bf16}) {
    for (const double slope : {0.5, -0.5, 40.0}) {
      const Case c{.tokens = 200, .keys = 200, .heads = 2, .kv_heads = 1, .head_size = 16, .dtype = dtype};
      const Inputs in = make_inputs(c);
      for (int64_t i = 0; i < in.forward.q.num_elements(); ++i) set_element(in.forward.q, i, 1.0);
      for (int64_t i = 0; i < in.forward.k.num_elements(); ++i) {
        set_element(in.forward.k, i, slope * static_cast<double>(i / c.head_size));
      }
      run(in.forward, kernel);
      check_forward(in.forward);
      check_backward(in, dtype, false);
    }
  }
}

/// All bytes that an attention and its gradient leave behind.
std::vector<std::byte> result_bytes(const Case& c) {
  CachingAllocator allocator(make_system_memory_source());
  KernelContext kernel(allocator);
  const Inputs in = make_inputs(c);
  run(in.forward, kernel);
  const op::AttentionGrad grad = make_grad(in, c.dtype, false);
  run(grad, kernel);
  std::vector<std::byte> bytes;
  for (const Tensor& tensor : {in.forward.y, in.forward.lse, grad.dq.tensor, grad.dk.tensor, grad.dv.tensor}) {
    bytes.insert(bytes.end(), tensor.bytes(), tensor.bytes() + tensor.size_bytes());
  }
  return bytes;
}

TEST(Attention, has_the_same_bits_on_any_number_of_threads) {
  const int before = num_threads();
  for (const Case& c :
       {Case{1, 300, 300, 4, 2, 24, 0, true}, Case{2, 100, 100, 2, 2, 16, 30, false, false, DType::bf16}}) {
    set_num_threads(1);
    const auto one = result_bytes(c);
    set_num_threads(3);
    EXPECT_EQ(result_bytes(c), one);
  }
  set_num_threads(before);
}

TEST(Attention, takes_the_workspace_it_declares) {
  const Case c{2, 130, 130, 4, 2, 20};
  CachingAllocator allocator(make_system_memory_source());
  KernelContext kernel(allocator);
  const Inputs in = make_inputs(c);
  run(in.forward, kernel);
  EXPECT_EQ(allocator.statistics().peak_in_use_bytes, 0u);
  for (const bool wants_dq : {true, false}) {
    op::AttentionGrad grad = make_grad(in, DType::f32, false);
    if (!wants_dq) grad.dq = {};
    allocator.reset_peak();
    run(grad, kernel);
    CachingAllocator other(make_virtual_memory_source());
    other.allocate(workspace_bytes(grad), MemoryKind::workspace);
    EXPECT_EQ(allocator.statistics().peak_in_use_bytes, other.statistics().peak_in_use_bytes);
  }
}

TEST(Attention, leaves_out_gradients_that_nobody_wants) {
  const Inputs in = make_inputs({1, 70, 70, 2, 1, 16});
  CachingAllocator allocator(make_system_memory_source());
  KernelContext kernel(allocator);
  run(in.forward, kernel);
  const op::AttentionGrad all = make_grad(in, DType::f32, false);
  run(all, kernel);
  for (GradientSlot op::AttentionGrad::*wanted :
       {&op::AttentionGrad::dq, &op::AttentionGrad::dk, &op::AttentionGrad::dv}) {
    op::AttentionGrad one = make_grad(in, DType::f32, false);
    const GradientSlot slot = one.*wanted;
    one.dq = one.dk = one.dv = {};
    one.*wanted = slot;
    run(one, kernel);
    for (int64_t i = 0; i < slot.tensor.num_elements(); ++i) {
      ASSERT_EQ(element_as_double(slot.tensor, i), element_as_double((all.*wanted).tensor, i));
    }
  }
}

TEST(Attention, gives_hidden_keys_no_weight_at_all) {
  const Inputs in = make_inputs({1, 40, 40, 1, 1, 16, 8});
  CachingAllocator allocator(make_system_memory_source());
  KernelContext kernel(allocator);
  run(in.forward, kernel);
  std::vector<double> before;
  for (int64_t i = 20 * 16; i < 21 * 16; ++i) before.push_back(element_as_double(in.forward.y, i));
  for (const int64_t hidden : {12, 21, 39}) {  // query 20 sees keys 13 to 20
    for (int64_t d = 0; d < 16; ++d) {
      set_element(in.forward.k, hidden * 16 + d, 1e18);
      set_element(in.forward.v, hidden * 16 + d, 1e30);
    }
  }
  run(in.forward, kernel);
  for (int64_t i = 0; i < 16; ++i)
    EXPECT_EQ(element_as_double(in.forward.y, 20 * 16 + i), before[static_cast<size_t>(i)]);
}

TEST(Attention, never_touches_blocks_of_other_documents) {
  for (const DType dtype : {DType::f32, DType::bf16}) {
    Inputs in = make_inputs({1, 192, 192, 2, 1, 16, 0, true, false, dtype});
    for (int64_t t = 0; t < 192; ++t) set_element(in.forward.document_starts, t, static_cast<double>(t / 64 * 64));
    for (int64_t i = 0; i < 64 * 16; ++i) {  // the first document, a block of its own
      set_element(in.forward.k, i, std::nan(""));
      set_element(in.forward.v, i, std::nan(""));
    }
    CachingAllocator allocator(make_system_memory_source());
    KernelContext kernel(allocator);
    run(in.forward, kernel);
    const op::AttentionGrad grad = make_grad(in, DType::f32, false);
    run(grad, kernel);
    const auto expect_finite_behind_first_document = [](const Tensor& tensor) {
      for (int64_t i = tensor.num_elements() / 3; i < tensor.num_elements(); ++i) {
        ASSERT_TRUE(std::isfinite(element_as_double(tensor, i))) << i;
      }
    };
    EXPECT_TRUE(std::isnan(element_as_double(in.forward.y, 0)));
    for (const Tensor& each : {in.forward.y, grad.dq.tensor, grad.dk.tensor, grad.dv.tensor}) {
      expect_finite_behind_first_document(each);
    }
  }
}

TEST(Attention, refuses_lengths_outside_the_cache) {
  const Inputs in = make_inputs({1, 4, 10, 1, 1, 8, 0, false, true});
  CachingAllocator allocator(make_system_memory_source());
  KernelContext kernel(allocator);
  for (const double length : {-1.0, 3.0, 11.0}) {
    set_element(in.forward.kv_lengths, 0, length);
    EXPECT_THROW(run(in.forward, kernel), Error);
  }
}

}  // namespace
}  // namespace owlet::cpu
