// Values inside tensors that an operation must refuse while it runs: indices out of range. Nothing is written then
// outside the results.
#include <gtest/gtest.h>

#include "backends/reference/reference_backend.hpp"
#include "base/error.hpp"
#include "tests/support/op_case.hpp"
#include "tests/support/op_trial.hpp"

namespace owlet::test {

namespace {

/// The first case of `op_name` that has this field, with one of its indices changed to `value`.
void expect_refused(std::string_view op_name, std::string_view field_name, int32_t value) {
  const std::unique_ptr<Backend> reference = make_reference_backend();
  for (const OpCase& one : cases_of(op_name)) {
    AnyOp op = round_op(one, DType::f32);
    Tensor indices;
    for (const OpField& field : op_fields(op)) {
      if (field.name == field_name) indices = *field.tensor;
    }
    if (!indices.defined()) continue;
    indices.data<int32_t>()[indices.num_elements() - 1] = value;
    for (Backend* backend : {reference.get(), &cpu_under_test()}) {
      const AnyOp own = with_own_results(op, {});
      OpTrial trial(cpu_under_test(), one, op, {});
      const AnyOp& under_test = backend == reference.get() ? own : trial.op();
      try {
        backend->run(under_test);
        ADD_FAILURE() << one.name << " on " << backend->name() << ": " << field_name << " = " << value << " is taken";
      } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::invalid_argument) << error.what();
        EXPECT_NE(std::string(error.what()).find(std::to_string(value)), std::string::npos) << error.what();
      }
    }
    return;
  }
  FAIL() << op_name << " has no case with " << field_name;
}

class OpErrors : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_forced_instruction_set()) GTEST_SKIP() << forced_instruction_set() << " is not on this machine";
  }
};

TEST_F(OpErrors, TokensOutsideTheTable) {
  for (int32_t value : {-1, 7, 1 << 30}) {
    expect_refused("embedding", "tokens", value);
    expect_refused("embedding_grad", "tokens", value);
  }
}

TEST_F(OpErrors, TargetsOutsideTheVocabulary) {
  for (int32_t value : {-2, 1, 1 << 30}) expect_refused("linear_cross_entropy", "targets", value);
}

TEST_F(OpErrors, PositionsBehindTheTable) {
  for (int32_t value : {-1, 11, 1 << 30}) expect_refused("rope", "positions", value);
}

TEST_F(OpErrors, CacheLengthsOutsideTheCache) {
  for (int32_t value : {-1, 0, 38}) {
    expect_refused("attention", "kv_lengths", value);
    expect_refused("cache_append", "kv_lengths", value);
  }
}

TEST_F(OpErrors, DocumentsThatBeginLater) {
  for (int32_t value : {-1, 16, 1 << 30}) {
    expect_refused("attention", "document_starts", value);
    expect_refused("attention_grad", "document_starts", value);
    expect_refused("plain_attention", "document_starts", value);
  }
}

}  // namespace

}  // namespace owlet::test
