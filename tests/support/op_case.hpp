// OpCase: one description of an operation from which its tests follow: accuracy against the float64 reference, threads,
// support and time. Cases are written in float64; the harness rounds them to the types under test.
//
//   std::vector<OpCase> add_cases() {
//     return {make_case<op::Add>("33", [](CaseInputs& in) {
//       return op::Add{in.normal({33}), in.normal({33}), in.empty({33})};
//     })};
//   }
#pragma once

#include <fmt/format.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/random.hpp"
#include "ops/any_op.hpp"

namespace owlet::test {

/// Draws the tensors of a case in ordinary memory; the same numbers for the same case name.
class CaseInputs {
 public:
  explicit CaseInputs(std::string_view case_name) : random_(0, stream_id(case_name)) {}

  /// f64, normally distributed.
  Tensor normal(const Shape& shape, double deviation = 1, double mean = 0);
  /// f64, uniform in [low, high).
  Tensor uniform(const Shape& shape, double low, double high);
  /// i32, uniform in [begin, end).
  Tensor indices(const Shape& shape, int64_t begin, int64_t end);
  /// f64, for results.
  Tensor empty(const Shape& shape) const { return make_host_tensor(shape, DType::f64); }
  GradientSlot slot(const Shape& shape) const { return {empty(shape), false}; }
  RandomStream& random() { return random_; }

 private:
  RandomStream random_;
};

/// One shape variant of one operation.
struct OpCase {
  /// "rms_norm/3x17": the op's name, a slash, the variant.
  std::string name;
  /// The op with its inputs drawn and its results allocated, all f64 (indices i32). Slots do not accumulate.
  std::function<AnyOp(CaseInputs&)> make;
  /// Element types of fields that have another than the op's header says by default ("y" f32 beside bf16).
  std::map<std::string, DType, std::less<>> types = {};
  /// Result field -> input field whose memory it shares, where the op allows working in place.
  std::map<std::string, std::string, std::less<>> in_place = {};
};

template <typename Op>
OpCase make_case(const std::string& variant, std::function<Op(CaseInputs&)> make) {
  return {std::string(Op::kName) + "/" + variant, [make](CaseInputs& in) { return AnyOp(make(in)); }};
}

/// Draws a case.
AnyOp make_op(const OpCase& one);
/// All cases whose op is `op_name`.
std::vector<OpCase> cases_of(std::string_view op_name);
/// The names of all alternatives of AnyOp.
std::vector<std::string> all_op_names();

/// Lengths around the widths of vectors: each up to two AVX-512 vectors of f32, then around those of bf16.
std::vector<int64_t> lengths_around_vectors();

// The families: the visible list that cases_of() searches is in op_case.cpp.
std::vector<OpCase> attention_cases();
std::vector<OpCase> cross_entropy_cases();
std::vector<OpCase> elementwise_cases();
std::vector<OpCase> embedding_cases();
std::vector<OpCase> linear_cases();
std::vector<OpCase> norm_cases();
std::vector<OpCase> rope_cases();

/// Cases of the sizes of a small model, one or a few per op, for op_bench.
std::vector<OpCase> bench_cases();

}  // namespace owlet::test
