#include "tests/support/op_case.hpp"

#include <utility>

#include "ops/op_fields.hpp"

namespace owlet::test {

namespace {

using Family = std::vector<OpCase> (*)();
constexpr Family kFamilies[] = {attention_cases, cross_entropy_cases, elementwise_cases, embedding_cases,
                                linear_cases,    norm_cases,          rope_cases};

template <size_t... I>
std::vector<std::string> names_of_alternatives(std::index_sequence<I...>) {
  return {std::string(std::variant_alternative_t<I, AnyOpVariant>::kName)...};
}

/// Gradients of activations may be left in f32 beside bf16: one more case with all of them so.
void add_f32_slots(std::vector<OpCase>& cases) {
  OpCase one = cases[cases.size() / 2];
  AnyOp op = make_op(one);
  if (op.name() == op::LinearInputGrad::kName) return;  // of dy's type, says its header
  bool has_slots = false;
  for (const OpField& field : op_fields(op)) {
    if (field.role == FieldRole::gradient && field.type == FieldType::activation) {
      has_slots = one.types.emplace(field.name, DType::f32).second;
    }
  }
  if (!has_slots) return;
  one.name += "+f32_slots";
  cases.push_back(one);
}

}  // namespace

Tensor CaseInputs::normal(const Shape& shape, double deviation, double mean) {
  Tensor tensor = empty(shape);
  for (double& value : tensor.span<double>()) value = mean + deviation * random_.next_normal();
  return tensor;
}

Tensor CaseInputs::uniform(const Shape& shape, double low, double high) {
  Tensor tensor = empty(shape);
  for (double& value : tensor.span<double>()) value = low + (high - low) * random_.next_double();
  return tensor;
}

Tensor CaseInputs::indices(const Shape& shape, int64_t begin, int64_t end) {
  Tensor tensor = make_host_tensor(shape, DType::i32);
  for (int32_t& value : tensor.span<int32_t>()) {
    value = static_cast<int32_t>(begin + static_cast<int64_t>(random_.next_below(static_cast<uint64_t>(end - begin))));
  }
  return tensor;
}

AnyOp make_op(const OpCase& one) {
  CaseInputs inputs(one.name);
  return one.make(inputs);
}

std::vector<OpCase> cases_of(std::string_view op_name) {
  std::vector<OpCase> found;
  for (const Family family : kFamilies) {
    for (OpCase& one : family()) {
      if (std::string_view(one.name).substr(0, one.name.find('/')) == op_name) found.push_back(std::move(one));
    }
  }
  if (!found.empty()) add_f32_slots(found);
  return found;
}

std::vector<std::string> all_op_names() {
  return names_of_alternatives(std::make_index_sequence<std::variant_size_v<AnyOpVariant>>());
}

std::vector<int64_t> lengths_around_vectors() {
  std::vector<int64_t> lengths;
  for (int64_t length = 1; length <= 33; ++length) lengths.push_back(length);
  for (int64_t length : {47, 48, 63, 64, 65}) lengths.push_back(length);
  return lengths;
}

}  // namespace owlet::test
