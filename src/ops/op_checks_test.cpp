// check() of every operation refuses missing tensors, wrong shapes and wrong element types, and says whose they are.
#include <gtest/gtest.h>

#include <set>

#include "base/error.hpp"
#include "ops/op_fields.hpp"
#include "tests/support/op_case.hpp"

namespace owlet::test {

namespace {

/// Fields that may be missing.
bool is_optional(const OpField& field) {
  static const std::set<std::string_view> kOptional{"bias", "document_starts", "kv_lengths", "lower_bits"};
  return field.role == FieldRole::gradient || kOptional.contains(field.name);
}

/// Calls `change(tensor)` on each field of one case in turn and expects check() to refuse what came of it.
template <typename Change>
void expect_refused(const OpCase& one, const std::string& what, Change change) {
  AnyOp original = make_op(one);
  ASSERT_NO_THROW(original.check()) << one.name;
  const size_t num_fields = op_fields(original).size();
  for (size_t i = 0; i < num_fields; ++i) {
    AnyOp op = original;
    const OpField field = op_fields(op)[i];
    const Tensor before = *field.tensor;
    if (!before.defined() || !change(field)) continue;
    try {
      op.check();
      ADD_FAILURE() << one.name << ": " << field.name << " " << what << " is taken: " << describe(*field.tensor)
                    << " for " << describe(before);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::invalid_argument) << one.name << ": " << error.what();
      EXPECT_EQ(std::string(error.what()).find(op.name()), 0u) << error.what();
    }
  }
}

/// The case whose sizes differ most from each other tells dimensions apart.
std::vector<OpCase> some_cases(const std::string& op_name) {
  std::vector<OpCase> cases = cases_of(op_name);
  if (cases.size() > 8) cases = {cases[cases.size() / 2], cases[cases.size() / 3], cases[cases.size() - 2]};
  return cases;
}

TEST(OpChecks, MissingTensors) {
  for (const std::string& name : all_op_names()) {
    for (const OpCase& one : some_cases(name)) {
      expect_refused(one, "missing", [](const OpField& field) {
        if (is_optional(field)) return false;
        *field.tensor = Tensor();
        return true;
      });
    }
  }
}

TEST(OpChecks, ElementTypes) {
  for (const std::string& name : all_op_names()) {
    for (const OpCase& one : some_cases(name)) {
      for (DType wrong : {DType::u16, DType::f16}) {
        expect_refused(one, "of a wrong type", [wrong](const OpField& field) {
          if (field.tensor->dtype() == wrong) return false;
          *field.tensor = make_host_tensor(field.tensor->shape(), wrong);
          return true;
        });
      }
    }
  }
}

TEST(OpChecks, RowsTooMany) {
  // Where any number of rows is right, because nothing else has that dimension.
  const std::set<std::string> free{"embedding/weight", "embedding_grad/dweight", "fill/y",
                                   "fill_normal/y",    "squared_norm/x",         "rope/table"};
  for (const std::string& name : all_op_names()) {
    for (const OpCase& one : some_cases(name)) {
      expect_refused(one, "with a row more", [&](const OpField& field) {
        if (free.contains(name + "/" + std::string(field.name))) return false;
        std::vector<int64_t> dims(field.tensor->shape().dims().begin(), field.tensor->shape().dims().end());
        ++dims.front();
        *field.tensor = make_host_tensor(Shape(dims), field.tensor->dtype());
        return true;
      });
    }
  }
}

TEST(OpChecks, ColumnsTooMany) {
  const std::set<std::string> free{"fill/y", "fill_normal/y", "squared_norm/x"};
  for (const std::string& name : all_op_names()) {
    for (const OpCase& one : some_cases(name)) {
      expect_refused(one, "with a column more", [&](const OpField& field) {
        if (free.contains(name + "/" + std::string(field.name))) return false;
        std::vector<int64_t> dims(field.tensor->shape().dims().begin(), field.tensor->shape().dims().end());
        ++dims.back();
        *field.tensor = make_host_tensor(Shape(dims), field.tensor->dtype());
        return true;
      });
    }
  }
}

TEST(OpChecks, MessagesNameTheTensorAndBothShapes) {
  CaseInputs in("names");
  const op::RmsNorm op{in.empty({2, 3}), in.empty({4}), in.empty({2, 3}), in.empty({2})};
  try {
    op.check();
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "rms_norm: weight has shape (4), expected (3)");
  }
}

TEST(OpFields, NameEveryTensorOnce) {
  for (const std::string& name : all_op_names()) {
    AnyOp op = make_op(cases_of(name).front());
    std::set<std::string_view> names;
    std::set<const Tensor*> tensors;
    for (const OpField& field : op_fields(op)) {
      EXPECT_TRUE(names.insert(field.name).second) << name << ": " << field.name;
      EXPECT_TRUE(tensors.insert(field.tensor).second) << name << ": " << field.name;
      EXPECT_TRUE(field.role != FieldRole::gradient || field.accumulate != nullptr) << name << ": " << field.name;
    }
  }
}

}  // namespace

}  // namespace owlet::test
