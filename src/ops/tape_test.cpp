// The tape's bookkeeping, on the float64 reference backend: what is added to what, and when memory is freed.
#include "ops/tape.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "backends/reference/reference_backend.hpp"
#include "base/error.hpp"
#include "ops/any_op.hpp"

namespace owlet {
namespace {

class TapeTest : public ::testing::Test {
 protected:
  Tensor values(std::vector<double> numbers) {
    return Context(*backend_).from_values<double>({1, static_cast<int64_t>(numbers.size())},
                                                  std::span<const double>(numbers));
  }
  static std::vector<double> read(const Tensor& tensor) {
    const auto span = tensor.span<double>();
    return {span.begin(), span.end()};
  }

  std::unique_ptr<Backend> backend_ = make_reference_backend();
  Tape tape_;
  Context ctx_{*backend_, &tape_};
};

TEST_F(TapeTest, ResidualSumsGradientsOfBothPaths) {
  const Tensor x = values({1, 2, 3});
  tape_.watch_input(x);
  const Tensor doubled = add(ctx_, x, x);
  const Tensor y = add(ctx_, x, doubled);
  const Tensor dy = values({1, 10, 100});
  tape_.seed(y, dy);
  tape_.backward(ctx_);
  EXPECT_EQ(read(tape_.gradient(x)), (std::vector<double>{3, 30, 300}));
  // The gradient that was passed on without a copy must not have been written to.
  EXPECT_EQ(read(dy), (std::vector<double>{1, 10, 100}));
}

TEST_F(TapeTest, SharedGradientIsCopiedBeforeItIsAddedTo) {
  const Tensor a = values({1, 1}), b = values({1, 1});
  tape_.watch_input(a);
  tape_.watch_input(b);
  const Tensor aa = add(ctx_, a, a);  // adds to a's gradient after b has received the same tensor
  const Tensor ab = add(ctx_, a, b);
  const Tensor y = add(ctx_, aa, ab);
  tape_.seed(y, values({1, 2}));
  tape_.backward(ctx_);
  EXPECT_EQ(read(tape_.gradient(a)), (std::vector<double>{3, 6}));
  EXPECT_EQ(read(tape_.gradient(b)), (std::vector<double>{1, 2}));
}

TEST_F(TapeTest, LeavesOverwriteOnceAndThenAccumulate) {
  Tensor weight = values({2, 2}).reshape({2}), gradient = values({77, 77}).reshape({2});
  bool is_written = false;
  for (int micro_batch = 0; micro_batch < 2; ++micro_batch) {
    Tape tape;
    Context ctx(*backend_, &tape);
    tape.watch(weight, &gradient, &is_written, DType::f64);
    const Tensor y = rms_norm(ctx, values({3, 4}), weight, 0.0f);
    tape.seed(y, values({1, 1}));
    tape.backward(ctx);
  }
  const double rms = std::sqrt(12.5);
  EXPECT_NEAR(read(gradient)[0], 2 * 3 / rms, 1e-12);
  EXPECT_NEAR(read(gradient)[1], 2 * 4 / rms, 1e-12);
}

TEST_F(TapeTest, AGradientIsCompleteWhenTheLastClosureThatMayWriteItHasRun) {
  const Tensor shared = values({2, 2}).reshape({2}), last = values({1, 1}).reshape({2});
  Tensor shared_gradient, last_gradient;
  bool shared_is_written = false, last_is_written = false;
  std::vector<std::string> completed;
  const auto take = [&](const char* name, Tensor& gradient) {
    return [&completed, name, &gradient] {
      completed.push_back(fmt::format("{} {:.3f}", name, gradient.data<double>()[0]));
      gradient = Tensor();
    };
  };
  tape_.watch(shared, &shared_gradient, &shared_is_written, DType::f64, take("shared", shared_gradient));
  tape_.watch(last, &last_gradient, &last_is_written, DType::f64, take("last", last_gradient));
  const Tensor first = rms_norm(ctx_, values({1, 1}), shared, 0.0f);
  const Tensor second = rms_norm(ctx_, first, shared, 0.0f);
  const Tensor y = rms_norm(ctx_, second, last, 0.0f);
  tape_.seed(y, values({1, 1}));
  tape_.backward(ctx_);
  EXPECT_EQ(completed.size(), 2u);
  EXPECT_EQ(completed[0].substr(0, 4), "last");
  EXPECT_EQ(completed[1].substr(0, 6), "shared");
  EXPECT_FALSE(shared_gradient.defined());
}

TEST_F(TapeTest, AValueSharedByCheckpointedBlocksCannotBeTakenEarly) {
  const Tensor weight = values({2, 3}).reshape({2});
  Tensor gradient;
  bool is_written = false;
  tape_.watch(weight, &gradient, &is_written, DType::f64, [] {});
  const auto block = [&](Context& ctx, const Tensor& x) { return rms_norm(ctx, x, weight, 0.0f); };
  const Tensor y = checkpoint(ctx_, checkpoint(ctx_, values({1, 2}), block), block);
  tape_.seed(y, values({1, 1}));
  try {
    tape_.backward(ctx_);
    FAIL() << "expected an Error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::internal) << error.what();
  }
}

TEST_F(TapeTest, NothingIsRecordedForInputsWithoutGradient) {
  const Tensor x = values({1, 2});
  const Tensor y = gelu(ctx_, x, GeluKind::tanh);
  EXPECT_FALSE(tape_.needs_gradient(y));
  EXPECT_FALSE(ctx_.slot(x).is_wanted());
}

TEST_F(TapeTest, UnusedResultsCostNoBackward) {
  const Tensor x = values({1, 2});
  tape_.watch_input(x);
  gelu(ctx_, x, GeluKind::tanh);
  const Tensor y = add(ctx_, x, x);
  tape_.seed(y, values({1, 1}));
  tape_.backward(ctx_);
  EXPECT_EQ(read(tape_.gradient(x)), (std::vector<double>{2, 2}));
}

TEST_F(TapeTest, BackwardFreesActivations) {
  const Tensor x = values({1, 2, 3, 4});
  tape_.watch_input(x);
  const size_t before = backend_->allocator().statistics().in_use_bytes;
  {
    Tensor y = x;
    for (int i = 0; i < 8; ++i) y = gelu(ctx_, y, GeluKind::tanh);
    tape_.seed(y, values({1, 1, 1, 1}));
  }
  tape_.backward(ctx_);
  // What remains is the gradient of x (one block of the allocator).
  EXPECT_LE(backend_->allocator().statistics().in_use_bytes, before + 512);
}

TEST_F(TapeTest, CheckpointGivesTheSameGradientsWithLessMemory) {
  const auto block = [](Context& ctx, const Tensor& x) {
    Tensor y = x;
    for (int i = 0; i < 6; ++i) y = gelu(ctx, y, GeluKind::exact);
    return add(ctx, x, y);
  };
  std::vector<std::vector<double>> gradients;
  std::vector<size_t> peaks;
  for (const bool checkpoints : {false, true}) {
    Tape tape;
    Context ctx(*backend_, &tape);
    Tensor x = values(std::vector<double>(512, 0.5));
    tape.watch_input(x);
    backend_->allocator().reset_peak();
    const size_t before = backend_->allocator().statistics().in_use_bytes;
    Tensor y = x;
    for (int i = 0; i < 4; ++i) y = checkpoints ? checkpoint(ctx, y, block) : block(ctx, y);
    tape.seed(y, values(std::vector<double>(512, 1)));
    y = Tensor();
    tape.backward(ctx);
    gradients.push_back(read(tape.gradient(x)));
    peaks.push_back(backend_->allocator().statistics().peak_in_use_bytes - before);
  }
  EXPECT_EQ(gradients[0], gradients[1]);
  EXPECT_LT(peaks[1], peaks[0] * 2 / 3);
}

TEST_F(TapeTest, CheapInputsOfProductsAreFreedAndComputedAgain) {
  const int64_t size = 4096;
  const Tensor x = values(std::vector<double>(static_cast<size_t>(size), 0.5));
  const Tensor weight = values(std::vector<double>(static_cast<size_t>(size), 0.25));
  Tensor gradient = values(std::vector<double>(static_cast<size_t>(size), 77));
  bool is_written = false;
  tape_.watch(weight, &gradient, &is_written, DType::f64);
  tape_.watch_input(x);
  const size_t before = backend_->allocator().statistics().in_use_bytes;
  Tensor first, second;
  {
    const Tensor activated = gelu(ctx_, x, GeluKind::tanh);
    first = linear(ctx_, activated, weight, {});
    second = linear(ctx_, activated, weight, {});
  }
  const Tensor y = add(ctx_, first, second);
  EXPECT_LE(backend_->allocator().statistics().in_use_bytes, before + 4096) << "the activated values are kept";
  backend_->allocator().poison_new_buffers(true);
  tape_.seed(y, values({3}));
  first = second = Tensor();
  tape_.backward(ctx_);
  const double activated = 0.5 * 0.5 * (1 + std::tanh(0.7978845608028654 * (0.5 + 0.044715 * 0.125)));
  for (const double each : read(gradient)) EXPECT_NEAR(each, 2 * 3 * activated, 1e-12);
  // What remains is the gradient of x.
  EXPECT_LE(backend_->allocator().statistics().in_use_bytes, before + static_cast<size_t>(size) * 8 + 4096);
}

TEST_F(TapeTest, CheckNamesTheTensorAndBothShapes) {
  try {
    rms_norm(ctx_, values({1, 2, 3}), values({1, 1}).reshape({2}), 1e-5f);
    FAIL() << "expected an Error";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "rms_norm: weight has shape (2), expected (3)");
  }
}

}  // namespace
}  // namespace owlet
