// What the comparison with the float64 reference cannot see of the optimizers: exact bits of random rounding and that
// its expectation is right, and that weights in two halves are updated as whole ones.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdlib>

#include "backends/cpu/cpu_backend.hpp"
#include "base/random.hpp"
#include "ops/any_op.hpp"
#include "tensor/formats/moment_codes.hpp"
#include "tensor/formats/split_weight.hpp"

namespace owlet {
namespace {

class RandomRounding : public testing::Test {
 protected:
  static CpuOptions options() {
    const char* forced = std::getenv("OWLET_TEST_ISA");
    return {.instruction_set = forced == nullptr ? "" : forced};
  }
  Tensor filled(int64_t count, DType dtype, float value) {
    const Tensor tensor = ctx_.empty({count}, dtype);
    ctx_.run(op::Fill{tensor, value});
    return tensor;
  }
  /// Weight, gradient and moments of constant values; the moments are as if many steps had had this gradient.
  op::AdamW constant_step(int64_t count, DType weight_type, float weight, float gradient) {
    op::AdamW op;
    op.weight = filled(count, weight_type, weight);
    op.gradient = filled(count, DType::f32, gradient);
    op.m = filled(count, DType::f32, gradient);
    op.v = filled(count, DType::f32, gradient * gradient);
    op.step = 1000000;
    op.seed = 17;
    op.stream = 4;
    return op;
  }
  static double mean_of(const Tensor& tensor) {
    double sum = 0;
    for (int64_t i = 0; i < tensor.num_elements(); ++i) sum += element_as_double(tensor, i);
    return sum / static_cast<double>(tensor.num_elements());
  }

  std::unique_ptr<Backend> backend_ = make_cpu_backend(options());
  Context ctx_{*backend_};
};

TEST_F(RandomRounding, AddsElementBitsToWhatIsCutOff) {
  constexpr int64_t kCount = 1003;
  op::AdamW exact = constant_step(kCount, DType::f32, 1.0f, 0.5f);
  op::AdamW rounded = constant_step(kCount, DType::bf16, 1.0f, 0.5f);
  exact.learning_rate = rounded.learning_rate = 1.234e-3f;
  ctx_.run(exact);
  ctx_.run(rounded);
  for (int64_t i = 0; i < kCount; ++i) {
    const auto word = std::bit_cast<uint32_t>(exact.weight.data<float>()[i]);
    const uint32_t bits = element_bits(17, 4, rounded.weight_draw(), static_cast<uint64_t>(i)) & 0xffff;
    EXPECT_EQ(rounded.weight.data<bf16>()[i].bits, static_cast<uint16_t>((word + bits) >> 16)) << i;
  }
}

/// Steps of a four-hundredth of half a unit in the last place: rounded to nearest, no weight would ever move.
TEST_F(RandomRounding, StepsFarBelowHalfAUnitMoveTheMean) {
  constexpr int64_t kCount = 65536;
  constexpr int kSteps = 100;
  constexpr double kStep = 1e-5;
  for (const float weight : {1.0f, -1.0f}) {
    op::AdamW op = constant_step(kCount, DType::bf16, weight, 0.5f);
    op.learning_rate = static_cast<float>(kStep);
    for (int i = 0; i < kSteps; ++i, ++op.step) ctx_.run(op);
    // Each step moves a weight by a unit u with probability kStep / u: a variance of kStep u. Below 1, u is 2^-8, at
    // and above 2^-7. Four standard deviations of the mean.
    const double deviation = std::sqrt(kSteps * kStep * 0x1p-7 / kCount);
    EXPECT_NEAR(mean_of(op.weight), double{weight} - kSteps * kStep, 4 * deviation);
  }
}

TEST_F(RandomRounding, BitsFollowSeedStreamAndStep) {
  const auto weights = [&](uint64_t seed, uint64_t stream, int64_t step) {
    op::AdamW op = constant_step(512, DType::bf16, 1.0f, 0.5f);
    op.learning_rate = 1e-3f;
    op.seed = seed;
    op.stream = stream;
    op.step = step;
    ctx_.run(op);
    std::vector<uint16_t> bits;
    for (const bf16 each : op.weight.span<bf16>()) bits.push_back(each.bits);
    return bits;
  };
  const std::vector<uint16_t> first = weights(1, 2, 1000000);
  EXPECT_EQ(first, weights(1, 2, 1000000));
  EXPECT_NE(first, weights(2, 2, 1000000));
  EXPECT_NE(first, weights(1, 3, 1000000));
  EXPECT_NE(first, weights(1, 2, 1000001));
}

/// One large gradient per block holds the scale; the other moments must fall as their averages say, though each step
/// is far below half a step of the code.
TEST_F(RandomRounding, EightBitMomentsOfNoGradientDecay) {
  constexpr int64_t kCount = 256 * 64;
  constexpr int kSteps = 300;
  op::AdamW8bit op;
  op.weight = filled(kCount, DType::f32, 0);
  op.gradient = filled(kCount, DType::f32, 0);
  op.m = filled(kCount, DType::i8, 100);
  op.v = filled(kCount, DType::u8, 200);
  for (int64_t i = 0; i < kCount; i += formats::kMomentBlock) {
    op.gradient.data<float>()[i] = 1;
    op.m.data<int8_t>()[i] = 127;
    op.v.data<uint8_t>()[i] = 255;
  }
  op.m_scale = filled(kCount / 256, DType::f32, 1);
  op.v_scale = filled(kCount / 256, DType::f32, 1);
  op.beta1 = 0.99f;
  op.beta2 = 0.999f;
  const auto means = [&] {
    double m = 0, s = 0;
    for (int64_t i = 0; i < kCount; ++i) {
      if (i % formats::kMomentBlock == 0) continue;
      m += formats::FirstMomentCode::decode(op.m.data<int8_t>()[i]);
      s += formats::SecondMomentCode::decode(op.v.data<uint8_t>()[i]);
    }
    return std::pair{m, s};
  };
  const auto [m_before, s_before] = means();
  for (op.step = 1000; op.step < 1000 + kSteps; ++op.step) ctx_.run(op);
  const auto [m_after, s_after] = means();
  EXPECT_NEAR(m_after / m_before, std::pow(0.99, kSteps), 0.05 * std::pow(0.99, kSteps));
  EXPECT_NEAR(s_after / s_before, std::pow(0.999, kSteps / 2.0), 0.02);
}

TEST_F(RandomRounding, ASecondMomentThatIsNotZeroNeverGetsTheCodeOfZero) {
  op::AdamW8bit op;
  op.weight = filled(256, DType::bf16, 1);
  op.gradient = filled(256, DType::f32, 1e-8f);
  op.gradient.data<float>()[0] = 1;
  op.gradient.data<float>()[1] = 0;
  op.m = filled(256, DType::i8, 0);
  op.v = filled(256, DType::u8, 0);
  op.m_scale = filled(1, DType::f32, 0);
  op.v_scale = filled(1, DType::f32, 0);
  ctx_.run(op);
  EXPECT_EQ(op.v.data<uint8_t>()[0], 255);
  EXPECT_EQ(op.v.data<uint8_t>()[1], 0);
  for (int64_t i = 2; i < 256; ++i) EXPECT_EQ(op.v.data<uint8_t>()[i], 1) << i;
  EXPECT_FLOAT_EQ(op.m_scale.data<float>()[0], 0.1f);
}

class SplitWeights : public RandomRounding {
 protected:
  Tensor normal(int64_t count, float deviation, uint64_t stream) {
    const Tensor tensor = ctx_.empty({count}, DType::f32);
    ctx_.run(op::FillNormal{tensor, 0, deviation, 1, stream});
    return tensor;
  }
  /// Steps with and without halves from the same weights; expects the same f32 words after each.
  template <typename Op>
  void expect_same_weights(Op whole, int64_t count) {
    whole.gradient = normal(count, 0.1f, 6);
    whole.weight = normal(count, 1, 5);
    whole.weight.template data<float>()[2] = std::numeric_limits<float>::infinity();
    whole.learning_rate = 1e-2f;
    whole.weight_decay = 0.1f;
    whole.seed = 9;
    Op split = whole;
    split.weight = ctx_.empty({count}, DType::bf16);
    split.lower_bits = ctx_.empty({count}, DType::u16);
    ctx_.run(op::SplitWeight{whole.weight, split.weight, split.lower_bits});
    for (Tensor Op::*moment : {&Op::m, &Op::v}) {
      split.*moment = ctx_.empty({count}, (whole.*moment).dtype());
      ctx_.run(op::Fill{split.*moment, 0});
    }
    if constexpr (requires { whole.m_scale; }) {
      split.m_scale = filled(whole.m_scale.num_elements(), DType::f32, 0);
      split.v_scale = filled(whole.m_scale.num_elements(), DType::f32, 0);
    }
    for (whole.step = split.step = 1; whole.step <= 3; ++whole.step, ++split.step) {
      ctx_.run(whole);
      ctx_.run(split);
      for (int64_t i = 0; i < count; ++i) {
        const float weight = whole.weight.template data<float>()[i];
        const formats::SplitWeight halves = formats::split_weight(weight);
        ASSERT_EQ(split.weight.template data<bf16>()[i].bits, halves.upper.bits) << i << ": " << weight;
        ASSERT_EQ(split.lower_bits.template data<uint16_t>()[i], halves.lower) << i << ": " << weight;
      }
    }
  }
};

TEST_F(SplitWeights, AreUpdatedAsWholeOnes) {
  for (const int64_t count : {5, 257, 40003}) {
    op::AdamW full;
    full.m = filled(count, DType::f32, 0);
    full.v = filled(count, DType::f32, 0);
    expect_same_weights(full, count);
    op::AdamW8bit coded;
    coded.m = filled(count, DType::i8, 0);
    coded.v = filled(count, DType::u8, 0);
    coded.m_scale = filled(formats::num_moment_blocks(count), DType::f32, 0);
    coded.v_scale = filled(formats::num_moment_blocks(count), DType::f32, 0);
    expect_same_weights(coded, count);
  }
}

}  // namespace
}  // namespace owlet
