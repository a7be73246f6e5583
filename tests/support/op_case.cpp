#include "tests/support/op_case.hpp"

#include <utility>

namespace owlet::test {

namespace {

using Family = std::vector<OpCase> (*)();
constexpr Family kFamilies[] = {attention_cases, cross_entropy_cases, elementwise_cases, embedding_cases,
                                linear_cases,    norm_cases,          rope_cases};

template <size_t... I>
std::vector<std::string> names_of_alternatives(std::index_sequence<I...>) {
  return {std::string(std::variant_alternative_t<I, AnyOpVariant>::kName)...};
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
