// Rounding to bf16 in vectors gives the bits that the constructor of bf16 gives, for every upper half of a float.
#include <gtest/gtest.h>

#include <bit>
#include <vector>

#include "ops/any_op.hpp"
#include "tests/support/op_trial.hpp"

namespace owlet {
namespace {

TEST(OpAccuracyOfCast, RoundsToBf16LikeItsConstructor) {
  constexpr uint32_t kLowerHalves[] = {0, 1, 0x7fff, 0x8000, 0x8001, 0xffff};
  std::vector<float> numbers;
  for (uint32_t upper = 0; upper < 0x10000; ++upper) {
    for (uint32_t lower : kLowerHalves) numbers.push_back(std::bit_cast<float>(upper << 16 | lower));
  }
  numbers.pop_back();  // a part of a vector at the end
  const auto count = static_cast<int64_t>(numbers.size());
  Backend& backend = test::cpu_under_test();
  const auto make = [&](DType dtype) {
    const size_t size = static_cast<size_t>(count) * size_of(dtype);
    return Tensor(backend.allocator().allocate(size, MemoryKind::other), 0, {count}, dtype);
  };
  const Tensor x = make(DType::f32), y = make(DType::bf16);
  backend.write(x, numbers.data());
  backend.run(op::Cast{x, y});
  std::vector<bf16> rounded(numbers.size());
  backend.read(y, rounded.data());
  for (size_t i = 0; i < numbers.size(); ++i) {
    ASSERT_EQ(rounded[i].bits, bf16(numbers[i]).bits) << std::hex << std::bit_cast<uint32_t>(numbers[i]);
  }
}

}  // namespace
}  // namespace owlet
