#include "cli/bench_kernel_cases.hpp"

#include <utility>

#include "ops/op_fields.hpp"
#include "tensor/formats/moment_codes.hpp"

namespace owlet {

/// Makes the tensors of one operation and gives them values that are safe for every operation.
class KernelTensors {
 public:
  KernelTensors(Backend& backend, DType activation) : backend_(backend), activation_(activation) {}

  /// Values between -3 and 3 or so; one number everywhere in tensors so large that their making would take long.
  Tensor values(const Shape& shape) { return values(shape, activation_); }
  Tensor values(const Shape& shape, DType dtype) {
    constexpr int64_t kLargest = int64_t{1} << 24;
    const Tensor tensor = empty(shape, dtype);
    if (tensor.num_elements() > kLargest) return fill(tensor, 0.5f);
    backend_.run(op::FillNormal{tensor, 0, 1, 1, next_stream_++});
    return tensor;
  }
  Tensor constant(const Shape& shape, float value) { return fill(empty(shape, DType::f32), value); }
  /// Gets a value before it is timed, so that its pages are there.
  Tensor result(const Shape& shape) { return fill(empty(shape, activation_), 0); }
  Tensor statistic(const Shape& shape) { return constant(shape, 1); }
  GradientSlot gradient(const Shape& shape) { return {result(shape), false}; }
  GradientSlot weight_gradient(const Shape& shape) { return {constant(shape, 0), true}; }
  /// Numbers below `limit` in an order without pattern.
  Tensor indices(const Shape& shape, int64_t limit) {
    return written<int32_t>(shape, DType::i32, [=](int64_t i) {
      constexpr int64_t kPrime = 7919;
      return static_cast<int32_t>(i % (int64_t{1} << 40) * kPrime % limit);
    });
  }
  Tensor positions(int64_t batch, int64_t tokens) {
    return written<int32_t>({batch, tokens}, DType::i32, [=](int64_t i) { return static_cast<int32_t>(i % tokens); });
  }
  Tensor lengths(int64_t batch, int64_t length) {
    return written<int32_t>({batch}, DType::i32, [=](int64_t) { return static_cast<int32_t>(length); });
  }
  template <typename T>
  Tensor zero_codes(const Shape& shape) {
    return written<T>(shape, dtype_of<T>, [](int64_t) { return T{0}; });
  }
  Tensor empty(const Shape& shape, DType dtype) {
    const size_t size = static_cast<size_t>(shape.num_elements()) * size_of(dtype);
    return Tensor(backend_.allocator().allocate(size, MemoryKind::other), 0, shape, dtype);
  }

 private:
  Tensor fill(const Tensor& tensor, float value) {
    backend_.run(op::Fill{tensor, value});
    return tensor;
  }
  template <typename T, typename Value>
  Tensor written(const Shape& shape, DType dtype, const Value& value) {
    const Tensor tensor = empty(shape, dtype);
    std::vector<T> elements(static_cast<size_t>(tensor.num_elements()));
    for (size_t i = 0; i < elements.size(); ++i) elements[i] = value(static_cast<int64_t>(i));
    backend_.write(tensor, elements.data());
    return tensor;
  }

  Backend& backend_;
  DType activation_;
  uint64_t next_stream_ = 1;
};

namespace {

using Sizes = const KernelSizes&;
using Tensors = KernelTensors&;

int64_t tokens_of(Sizes s) { return s.B * s.T; }
Shape rows_of(Sizes s) { return {tokens_of(s), s.C}; }
Shape heads_of(Sizes s) { return {s.B, s.T, s.H, s.C / s.H}; }
Shape hidden_of(Sizes s) { return {tokens_of(s), s.F}; }
/// What an optimizer updates: the largest parameter of the model.
Shape parameter_of(Sizes s) { return s.memory_bound_only ? rows_of(s) : Shape{s.V, s.C}; }

AnyOp make_embedding(Tensors t, Sizes s, DType) {
  return op::Embedding{t.indices({tokens_of(s)}, s.V), t.values({s.V, s.C}), t.result(rows_of(s))};
}
AnyOp make_embedding_grad(Tensors t, Sizes s, DType) {
  return op::EmbeddingGrad{t.values(rows_of(s)), t.indices({tokens_of(s)}, s.V), t.weight_gradient({s.V, s.C})};
}
AnyOp make_rms_norm(Tensors t, Sizes s, DType) {
  return op::RmsNorm{t.values(rows_of(s)), t.constant({s.C}, 1), t.result(rows_of(s)), t.statistic({tokens_of(s)})};
}
AnyOp make_rms_norm_grad(Tensors t, Sizes s, DType) {
  return op::RmsNormGrad{t.values(rows_of(s)),        t.values(rows_of(s)),   t.constant({s.C}, 1),
                         t.statistic({tokens_of(s)}), t.gradient(rows_of(s)), t.weight_gradient({s.C})};
}
AnyOp make_layer_norm(Tensors t, Sizes s, DType) {
  return op::LayerNorm{t.values(rows_of(s)), t.constant({s.C}, 1),        t.constant({s.C}, 0),
                       t.result(rows_of(s)), t.statistic({tokens_of(s)}), t.statistic({tokens_of(s)})};
}
AnyOp make_layer_norm_grad(Tensors t, Sizes s, DType) {
  return op::LayerNormGrad{t.values(rows_of(s)),          t.values(rows_of(s)),        t.constant({s.C}, 1),
                           t.constant({tokens_of(s)}, 0), t.statistic({tokens_of(s)}), t.gradient(rows_of(s)),
                           t.weight_gradient({s.C}),      t.weight_gradient({s.C})};
}
AnyOp make_linear(Tensors t, Sizes s, DType) {
  return op::Linear{t.values(rows_of(s)), t.values({s.F, s.C}), {}, t.result(hidden_of(s))};
}
AnyOp make_linear_input_grad(Tensors t, Sizes s, DType) {
  return op::LinearInputGrad{t.values(hidden_of(s)), t.values({s.F, s.C}), t.gradient(rows_of(s))};
}
AnyOp make_linear_weight_grad(Tensors t, Sizes s, DType) {
  return op::LinearWeightGrad{t.values(hidden_of(s)), t.values(rows_of(s)), t.weight_gradient({s.F, s.C}), {}};
}
AnyOp make_rope(Tensors t, Sizes s, DType) {
  op::Rope rope{t.values(heads_of(s)), t.positions(s.B, s.T), t.constant({s.T, s.C / s.H / 2, 2}, 0.7f),
                t.result(heads_of(s))};
  return rope;
}
AnyOp make_attention(Tensors t, Sizes s, DType) {
  op::Attention attention;
  attention.q = t.values(heads_of(s));
  attention.k = t.values(heads_of(s));
  attention.v = t.values(heads_of(s));
  attention.y = t.result(heads_of(s));
  attention.lse = t.statistic({s.B, s.H, s.T});
  attention.scale = 0.125f;
  return attention;
}
AnyOp make_attention_grad(Tensors t, Sizes s, DType) {
  op::AttentionGrad grad;
  for (Tensor* tensor : {&grad.dy, &grad.q, &grad.k, &grad.v, &grad.y}) *tensor = t.values(heads_of(s));
  grad.lse = t.constant({s.B, s.H, s.T}, 8);  // above every score: probabilities stay below 1
  grad.scale = 0.125f;
  for (GradientSlot* slot : {&grad.dq, &grad.dk, &grad.dv}) *slot = t.gradient(heads_of(s));
  return grad;
}
AnyOp make_plain_attention(Tensors t, Sizes s, DType) {
  op::PlainAttention attention;
  for (Tensor* tensor : {&attention.q, &attention.k, &attention.v}) *tensor = t.values(heads_of(s));
  attention.y = t.result(heads_of(s));
  attention.probabilities = t.result({s.B, s.H, s.T, s.T});
  attention.scale = 0.125f;
  return attention;
}
AnyOp make_plain_attention_grad(Tensors t, Sizes s, DType) {
  op::PlainAttentionGrad grad;
  for (Tensor* tensor : {&grad.dy, &grad.q, &grad.k, &grad.v}) *tensor = t.values(heads_of(s));
  grad.probabilities = t.values({s.B, s.H, s.T, s.T});
  grad.scale = 0.125f;
  for (GradientSlot* slot : {&grad.dq, &grad.dk, &grad.dv}) *slot = t.gradient(heads_of(s));
  return grad;
}
AnyOp make_cache_append(Tensors t, Sizes s, DType) {
  return op::CacheAppend{t.values(heads_of(s)), t.lengths(s.B, s.T), t.result(heads_of(s))};
}
AnyOp make_swiglu(Tensors t, Sizes s, DType) {
  return op::SwiGlu{t.values(hidden_of(s)), t.values(hidden_of(s)), t.result(hidden_of(s))};
}
AnyOp make_swiglu_grad(Tensors t, Sizes s, DType) {
  return op::SwiGluGrad{t.values(hidden_of(s)), t.values(hidden_of(s)), t.values(hidden_of(s)),
                        t.gradient(hidden_of(s)), t.gradient(hidden_of(s))};
}
AnyOp make_gelu(Tensors t, Sizes s, DType) { return op::Gelu{t.values(hidden_of(s)), t.result(hidden_of(s))}; }
AnyOp make_gelu_grad(Tensors t, Sizes s, DType) {
  return op::GeluGrad{t.values(hidden_of(s)), t.values(hidden_of(s)), t.gradient(hidden_of(s))};
}
AnyOp make_add(Tensors t, Sizes s, DType) {
  return op::Add{t.values(rows_of(s)), t.values(rows_of(s)), t.result(rows_of(s))};
}
AnyOp make_linear_cross_entropy(Tensors t, Sizes s, DType) {
  op::LinearCrossEntropy head;
  head.x = t.values(rows_of(s));
  head.weight = t.values({s.V, s.C});
  head.targets = t.indices({tokens_of(s)}, s.V);
  head.losses = t.statistic({tokens_of(s)});
  head.dx = t.gradient(rows_of(s));
  head.dweight = t.weight_gradient({s.V, s.C});
  return head;
}

void set_step(op::AdamWStep& step) {
  step.learning_rate = 1e-4f;
  step.weight_decay = 0.1f;
}
AnyOp make_adamw(Tensors t, Sizes s, DType dtype) {
  op::AdamW update;
  set_step(update);
  update.weight = t.values(parameter_of(s));
  update.gradient = t.values(parameter_of(s), DType::f32);
  update.m = t.constant(parameter_of(s), 0.1f);
  update.v = t.constant(parameter_of(s), 0.1f);
  if (dtype == DType::bf16) update.lower_bits = t.zero_codes<uint16_t>(parameter_of(s));
  return update;
}
AnyOp make_adamw8bit(Tensors t, Sizes s, DType dtype) {
  const Shape shape = parameter_of(s);
  const int64_t blocks = (shape.num_elements() + formats::kMomentBlock - 1) / formats::kMomentBlock;
  op::AdamW8bit update;
  set_step(update);
  update.weight = t.values(shape);
  update.gradient = t.values(shape, DType::f32);
  update.m = t.zero_codes<int8_t>(shape);
  update.v = t.zero_codes<uint8_t>(shape);
  update.m_scale = t.constant({blocks}, 0.1f);
  update.v_scale = t.constant({blocks}, 0.1f);
  if (dtype == DType::bf16) update.lower_bits = t.zero_codes<uint16_t>(shape);
  return update;
}
AnyOp make_cast(Tensors t, Sizes s, DType dtype) {
  const DType other = dtype == DType::f32 ? DType::bf16 : DType::f32;
  return op::Cast{t.values(parameter_of(s)), t.values(parameter_of(s), other)};
}
AnyOp make_split_weight(Tensors t, Sizes s, DType) {
  const Shape shape = parameter_of(s);
  return op::SplitWeight{t.values(shape, DType::f32), t.values(shape, DType::bf16), t.zero_codes<uint16_t>(shape)};
}
AnyOp make_fill(Tensors t, Sizes s, DType) { return op::Fill{t.result(parameter_of(s)), 1}; }
AnyOp make_fill_normal(Tensors t, Sizes s, DType) { return op::FillNormal{t.result(parameter_of(s)), 0, 1, 1, 1}; }
AnyOp make_squared_norm(Tensors t, Sizes s, DType) {
  return op::SquaredNorm{t.values(parameter_of(s)), t.empty({1}, DType::f64)};
}

struct Maker {
  std::string_view name;
  decltype(KernelCase::make_with) make;
  bool is_memory_bound;
};

constexpr Maker kMakers[] = {
    {op::Embedding::kName, make_embedding, true},
    {op::EmbeddingGrad::kName, make_embedding_grad, true},
    {op::RmsNorm::kName, make_rms_norm, true},
    {op::RmsNormGrad::kName, make_rms_norm_grad, true},
    {op::LayerNorm::kName, make_layer_norm, true},
    {op::LayerNormGrad::kName, make_layer_norm_grad, true},
    {op::Linear::kName, make_linear, false},
    {op::LinearInputGrad::kName, make_linear_input_grad, false},
    {op::LinearWeightGrad::kName, make_linear_weight_grad, false},
    {op::Rope::kName, make_rope, true},
    {op::Attention::kName, make_attention, false},
    {op::AttentionGrad::kName, make_attention_grad, false},
    {op::PlainAttention::kName, make_plain_attention, false},
    {op::PlainAttentionGrad::kName, make_plain_attention_grad, false},
    {op::CacheAppend::kName, make_cache_append, true},
    {op::SwiGlu::kName, make_swiglu, true},
    {op::SwiGluGrad::kName, make_swiglu_grad, true},
    {op::Gelu::kName, make_gelu, true},
    {op::GeluGrad::kName, make_gelu_grad, true},
    {op::Add::kName, make_add, true},
    {op::LinearCrossEntropy::kName, make_linear_cross_entropy, false},
    {op::AdamW::kName, make_adamw, true},
    {op::AdamW8bit::kName, make_adamw8bit, true},
    {op::Cast::kName, make_cast, true},
    {op::SplitWeight::kName, make_split_weight, true},
    {op::Fill::kName, make_fill, true},
    {op::FillNormal::kName, make_fill_normal, true},
    {op::SquaredNorm::kName, make_squared_norm, true},
};

}  // namespace

AnyOp KernelCase::make(Backend& backend) const {
  KernelTensors tensors(backend, dtype);
  AnyOp op = make_with(tensors, sizes, dtype);
  op.check();
  return op;
}

std::vector<KernelCase> kernel_cases(bool quick) {
  const std::vector<KernelSizes> all =
      quick ? std::vector<KernelSizes>{{.B = 2, .T = 16, .C = 48, .F = 96, .V = 200, .H = 2}}
            : std::vector<KernelSizes>{
                  {.B = 32, .T = 256, .C = 288, .F = 768, .V = 32000, .H = 6},
                  {.B = 8, .T = 512, .C = 768, .F = 2048, .V = 32000, .H = 12},
                  {.B = 64, .T = 1024, .C = 1024, .F = 1024, .V = 32000, .H = 16, .memory_bound_only = true}};
  std::vector<KernelCase> cases;
  for (const Maker& maker : kMakers) {
    for (const KernelSizes& sizes : all) {
      if (sizes.memory_bound_only && !maker.is_memory_bound) continue;
      for (DType dtype : {DType::f32, DType::bf16}) cases.push_back({maker.name, dtype, sizes, maker.make});
    }
  }
  return cases;
}

std::string shape_of(const AnyOp& op) {
  AnyOp copy = op;
  std::vector<std::string> shapes;
  for (const OpField& field : op_fields(copy)) {
    if (!field.tensor->defined() || shapes.size() == 2) continue;
    const std::string shape = to_string(field.tensor->shape());
    if (shapes.empty() || shapes.back() != shape) shapes.push_back(shape);
  }
  return shapes.size() < 2 ? shapes.front() : shapes[0] + " " + shapes[1];
}

}  // namespace owlet
