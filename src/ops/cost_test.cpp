// cost() of every operation: bytes are those of its tensors, FLOPs those of its formula.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "ops/op_fields.hpp"
#include "tests/support/op_case.hpp"

namespace owlet::test {

namespace {

double sum_of_bytes(AnyOp op, std::initializer_list<FieldRole> roles) {
  double sum = 0;
  for (const OpField& field : op_fields(op)) {
    if (std::ranges::find(roles, field.role) != roles.end() && field.tensor->defined()) {
      sum += static_cast<double>(field.tensor->size_bytes());
    }
  }
  return sum;
}

double bytes_of_activations(AnyOp op) {
  double sum = 0;
  for (const OpField& field : op_fields(op)) {
    if (field.role == FieldRole::input && field.type == FieldType::activation) {
      sum += static_cast<double>(field.tensor->size_bytes());
    }
  }
  return sum;
}

/// Ops that touch a part of a tensor only: rows by index.
bool touches_parts(std::string_view name) {
  return name == op::Embedding::kName || name == op::EmbeddingGrad::kName || name == op::CacheAppend::kName;
}

TEST(OpCost, WritesItsResultsAndReadsNoMoreThanItsInputs) {
  for (const std::string& name : all_op_names()) {
    const std::vector<OpCase> cases = cases_of(name);
    const AnyOp op = make_op(cases[cases.size() / 2]);
    const Cost cost = op.cost();
    EXPECT_GE(cost.flops, 0) << name;
    EXPECT_TRUE(std::isfinite(cost.flops + cost.bytes_read + cost.bytes_written)) << name;
    if (touches_parts(name)) continue;
    const double inputs = sum_of_bytes(op, {FieldRole::input, FieldRole::state});
    const double results = sum_of_bytes(op, {FieldRole::output, FieldRole::state, FieldRole::gradient});
    EXPECT_EQ(cost.bytes_written, results) << name;
    // Indices, angle tables and statistics may be left out; probabilities may be read back.
    EXPECT_LE(cost.bytes_read, inputs + results) << name;
    EXPECT_GE(cost.bytes_read, bytes_of_activations(op)) << name;
  }
}

TEST(OpCost, AccumulatingReadsTheSlots) {
  for (const std::string& name : all_op_names()) {
    if (touches_parts(name)) continue;
    const std::vector<OpCase> cases = cases_of(name);
    AnyOp op = make_op(cases[cases.size() / 2]);
    const double before = op.cost().bytes_read;
    double added = 0;
    for (const OpField& field : op_fields(op)) {
      if (field.accumulate == nullptr) continue;
      *field.accumulate = true;
      added += static_cast<double>(field.tensor->size_bytes());
    }
    EXPECT_EQ(op.cost().bytes_read, before + added) << name;
  }
}

TEST(OpCost, FlopsOfProducts) {
  CaseInputs in("products");
  const Tensor x = in.empty({3, 5}), weight = in.empty({7, 5}), y = in.empty({3, 7});
  EXPECT_EQ((op::Linear{x, weight, {}, y}.cost().flops), 2.0 * 3 * 5 * 7);
  EXPECT_EQ((op::LinearInputGrad{y, weight, {x, false}}.cost().flops), 2.0 * 3 * 5 * 7);
  EXPECT_EQ((op::LinearWeightGrad{y, x, {weight, false}, {}}.cost().flops), 2.0 * 3 * 5 * 7);
}

TEST(OpCost, AttentionCountsVisiblePairs) {
  CaseInputs in("pairs");
  const Tensor q = in.empty({2, 4, 3, 8}), k = in.empty({2, 4, 1, 8}), lse = in.empty({2, 3, 4});
  op::Attention op{q, k, k, q, lse, {}, {}};
  // 1 + 2 + 3 + 4 pairs per row and head, scores and values.
  EXPECT_EQ(op.cost().flops, 2.0 * 2 * 10 * 8 * (2 * 3));
  op.window = 2;
  EXPECT_EQ(op.cost().flops, 2.0 * 2 * 7 * 8 * (2 * 3));
  // One query behind four cached keys.
  const Tensor one = in.empty({2, 1, 3, 8});
  const op::Attention cached{one, k, k, one, in.empty({2, 3, 1}), {}, in.indices({2}, 4, 5)};
  EXPECT_EQ(cached.cost().flops, 2.0 * 2 * 4 * 8 * (2 * 3));
}

}  // namespace

}  // namespace owlet::test
