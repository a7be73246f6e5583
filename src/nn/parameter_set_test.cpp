#include "nn/parameter_set.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "backends/cpu/cpu_backend.hpp"
#include "backends/plan/plan_backend.hpp"
#include "backends/reference/reference_backend.hpp"
#include "base/error.hpp"
#include "ops/linear.hpp"

namespace owlet {
namespace {

constexpr Initialization kNormal{Initialization::Kind::normal, 0.5f};
constexpr Initialization kOnes{Initialization::Kind::ones};

class ParameterSetTest : public ::testing::Test {
 protected:
  std::vector<float> read(const Tensor& tensor) {
    Tensor host = make_host_tensor(tensor.shape(), tensor.dtype());
    backend_->read(tensor, host.bytes());
    std::vector<float> values;
    for (int64_t i = 0; i < host.num_elements(); ++i) values.push_back(static_cast<float>(element_as_double(host, i)));
    return values;
  }
  static Tensor host_values(const Shape& shape, DType dtype, double first) {
    Tensor tensor = make_host_tensor(shape, dtype);
    for (int64_t i = 0; i < tensor.num_elements(); ++i) set_element(tensor, i, first + 0.125 * static_cast<double>(i));
    return tensor;
  }

  std::unique_ptr<Backend> backend_ =
      make_cpu_backend({.num_threads = 1, .instruction_set = {}, .memory_limit_bytes = 0});
  Context ctx_{*backend_};
};

TEST_F(ParameterSetTest, TypesFollowTheStorage) {
  ParameterSet f32, bf16_training({DType::bf16, true}), bf16_generation({DType::bf16, false});
  for (ParameterSet* set : {&f32, &bf16_training, &bf16_generation}) {
    set->add(ctx_, "matrix", {4, 3}, kNormal);
    set->add(ctx_, "gain", {3}, kOnes);
    EXPECT_EQ(set->num_elements(), 15);
    EXPECT_EQ(set->find("gain")->value.dtype(), DType::f32);
    EXPECT_FALSE(set->find("gain")->lower_bits.defined());
    EXPECT_TRUE(set->find("matrix")->decays);
    EXPECT_FALSE(set->find("gain")->decays);
  }
  EXPECT_EQ(f32.find("matrix")->value.dtype(), DType::f32);
  EXPECT_FALSE(f32.find("matrix")->lower_bits.defined());
  EXPECT_EQ(bf16_training.find("matrix")->value.dtype(), DType::bf16);
  EXPECT_EQ(bf16_training.find("matrix")->lower_bits.dtype(), DType::u16);
  EXPECT_EQ(bf16_generation.find("matrix")->value.dtype(), DType::bf16);
  EXPECT_FALSE(bf16_generation.find("matrix")->lower_bits.defined());
  EXPECT_EQ(f32.find("nothing"), nullptr);
  EXPECT_THROW(f32.add(ctx_, "gain", {3}, kOnes), Error);

  const auto reference = make_reference_backend();
  Context exact(*reference);
  ParameterSet f64({DType::f64, true});
  f64.add(exact, "matrix", {4, 3}, kNormal);
  f64.add(exact, "gain", {3}, kOnes);
  f64.zero_unwritten_gradients(exact);
  for (const Parameter& parameter : f64.all()) {
    EXPECT_EQ(parameter.value.dtype(), DType::f64);
    EXPECT_FALSE(parameter.lower_bits.defined());
    EXPECT_EQ(parameter.gradient.dtype(), DType::f64);
  }
}

TEST_F(ParameterSetTest, StartDependsOnSeedAndNameOnly) {
  ParameterSet first, second;
  first.add(ctx_, "a", {5, 7}, kNormal);
  first.add(ctx_, "b", {5, 7}, kNormal);
  second.add(ctx_, "b", {5, 7}, kNormal);
  second.add(ctx_, "gain", {4}, kOnes);
  second.add(ctx_, "bias", {4}, {Initialization::Kind::zeros});
  first.initialize(ctx_, 1);
  second.initialize(ctx_, 1);
  EXPECT_EQ(read(first.find("b")->value), read(second.find("b")->value));
  EXPECT_NE(read(first.find("a")->value), read(first.find("b")->value));
  EXPECT_EQ(read(second.find("gain")->value), std::vector<float>(4, 1.0f));
  EXPECT_EQ(read(second.find("bias")->value), std::vector<float>(4, 0.0f));
  second.initialize(ctx_, 2);
  EXPECT_NE(read(first.find("b")->value), read(second.find("b")->value));
}

TEST_F(ParameterSetTest, WithoutMasterTheSameNumbersAreRounded) {
  ParameterSet with({DType::bf16, true}), without({DType::bf16, false});
  for (ParameterSet* set : {&with, &without}) {
    set->add(ctx_, "matrix", {16, 9}, kNormal);
    set->initialize(ctx_, 3);
  }
  EXPECT_EQ(read(with.find("matrix")->value), read(without.find("matrix")->value));
}

TEST_F(ParameterSetTest, LoadKeepsMasterWeightsWhole) {
  ParameterSet set({DType::bf16, true});
  Parameter& matrix = set.add(ctx_, "matrix", {2, 3}, kNormal);
  for (const DType dtype : {DType::f64, DType::f32, DType::bf16}) {
    set.load(ctx_, matrix, host_values({2, 3}, dtype, 1.0));
    EXPECT_EQ(read(matrix.value), (std::vector<float>{1.0f, 1.125f, 1.25f, 1.375f, 1.5f, 1.625f}));
    EXPECT_EQ(read(read_on_host(ctx_, matrix)), read(matrix.value));
  }
  set.load(ctx_, matrix, host_values({2, 3}, DType::f32, 1.0 + 0x1p-9));
  EXPECT_EQ(read(read_on_host(ctx_, matrix))[0], 1.0f + 0x1p-9f);
  EXPECT_EQ(read(matrix.value)[0], 1.0f);
  EXPECT_THROW(set.load(ctx_, matrix, host_values({3, 2}, DType::f32, 1.0)), Error);
}

TEST_F(ParameterSetTest, GradientsOverwriteThenAddThenZero) {
  ParameterSet set;
  Parameter& used = set.add(ctx_, "used", {1, 2}, kOnes);
  Parameter& unused = set.add(ctx_, "unused", {2}, kOnes);
  Parameter& frozen = set.add(ctx_, "frozen", {2}, kOnes);
  frozen.is_trainable = false;
  set.initialize(ctx_, 1);
  backend_->allocator().poison_new_buffers(true);
  const std::vector<float> x = {2.0f, 3.0f}, dy = {1.0f};
  const auto micro_batch = [&] {
    Tape tape;
    set.watch_on(tape);
    Context recording(*backend_, &tape);
    const Tensor y = linear(recording, ctx_.from_values<float>({1, 2}, x), used.value);
    tape.seed(y, ctx_.from_values<float>({1, 1}, dy));
    tape.backward(recording);
  };
  for (int step = 0; step < 2; ++step) {
    set.release_gradients();
    EXPECT_FALSE(used.gradient.defined());
    micro_batch();
    EXPECT_EQ(read(used.gradient), (std::vector<float>{2.0f, 3.0f}));
    micro_batch();
    EXPECT_EQ(read(used.gradient), (std::vector<float>{4.0f, 6.0f}));
    set.zero_unwritten_gradients(ctx_);
    EXPECT_EQ(read(used.gradient), (std::vector<float>{4.0f, 6.0f}));
    EXPECT_EQ(read(unused.gradient), (std::vector<float>{0.0f, 0.0f}));
    EXPECT_FALSE(frozen.gradient.defined());
  }
}

TEST_F(ParameterSetTest, MasterWeightsStartAsInAModelOfF32) {
  ParameterSet split({DType::bf16, true}), whole({DType::f32, true});
  for (ParameterSet* set : {&split, &whole}) {
    set->add(ctx_, "matrix", {16, 9}, kNormal);
    set->initialize(ctx_, 3);
  }
  EXPECT_EQ(split.find("matrix")->value.dtype(), DType::bf16);
  EXPECT_EQ(read(read_on_host(ctx_, *split.find("matrix"))), read(whole.find("matrix")->value));
}

TEST_F(ParameterSetTest, APlanAllocatesTheSame) {
  const auto bytes = [](Backend& backend) {
    Context ctx(backend);
    ParameterSet set({DType::bf16, true});
    Parameter& matrix = set.add(ctx, "matrix", {33, 17}, kNormal);
    set.add(ctx, "gain", {17}, kOnes);
    set.initialize(ctx, 1);
    set.load(ctx, matrix, host_values({33, 17}, DType::f32, 0));
    set.zero_unwritten_gradients(ctx);
    return backend.allocator().statistics().peak_in_use_bytes;
  };
  const auto plan = make_plan_backend(cpu_workspace_bytes);
  const auto cpu = make_cpu_backend({.num_threads = 1, .instruction_set = {}, .memory_limit_bytes = 0});
  EXPECT_EQ(bytes(*plan), bytes(*cpu));
}

}  // namespace
}  // namespace owlet
