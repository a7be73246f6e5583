// The closed list of operations. A new op is one header and one line here; backends then do not compile or fail
// their conformance test until they know it.
#pragma once

#include <string_view>
#include <variant>

#include "ops/adamw.hpp"
#include "ops/add.hpp"
#include "ops/attention.hpp"
#include "ops/elementwise.hpp"
#include "ops/embedding.hpp"
#include "ops/gelu.hpp"
#include "ops/layer_norm.hpp"
#include "ops/linear.hpp"
#include "ops/linear_cross_entropy.hpp"
#include "ops/rms_norm.hpp"
#include "ops/rope.hpp"
#include "ops/swiglu.hpp"

namespace owlet {

using AnyOpVariant = std::variant<op::Embedding, op::EmbeddingGrad,                                //
                                  op::RmsNorm, op::RmsNormGrad, op::LayerNorm, op::LayerNormGrad,  //
                                  op::Linear, op::LinearInputGrad, op::LinearWeightGrad,           //
                                  op::Rope,                                                        //
                                  op::Attention, op::AttentionGrad,                                //
                                  op::PlainAttention, op::PlainAttentionGrad, op::CacheAppend,     //
                                  op::SwiGlu, op::SwiGluGrad, op::Gelu, op::GeluGrad, op::Add,     //
                                  op::LinearCrossEntropy,                                          //
                                  op::AdamW, op::AdamW8bit,                                        //
                                  op::Cast, op::SplitWeight, op::Fill, op::FillNormal, op::SquaredNorm>;

/// One operation of any kind, ready to run.
struct AnyOp {
  AnyOpVariant variant;

  template <typename Op>
  AnyOp(Op op) : variant(std::move(op)) {}  // NOLINT: an op is an AnyOp

  std::string_view name() const {
    return std::visit([](const auto& op) { return std::string_view(op.kName); }, variant);
  }
  void check() const {
    std::visit([](const auto& op) { op.check(); }, variant);
  }
  Cost cost() const {
    return std::visit([](const auto& op) { return op.cost(); }, variant);
  }
};

}  // namespace owlet
