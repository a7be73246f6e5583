#include "backends/cpu/transposed_product.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <vector>

#include "backends/cpu/instruction_set.hpp"
#include "base/parallel_for.hpp"
#include "base/random.hpp"
#include "tensor/dtype.hpp"

namespace owlet::cpu {
namespace {

struct Case {
  int64_t m, n, k, a_row_stride;
  bool accumulate;
};

std::vector<bf16> random_matrix(int64_t count, uint64_t stream) {
  std::vector<bf16> values;
  for (int64_t i = 0; i < count; ++i) {
    values.emplace_back(static_cast<float>(random_normal(3, stream, static_cast<uint64_t>(i))));
  }
  return values;
}

/// The product on so many threads; a NaN stands behind the last element of C, and stays.
std::vector<float> run(const Case& c, const std::vector<bf16>& a, const std::vector<bf16>& b, int threads) {
  const int before = num_threads();
  set_num_threads(threads);
  const MatrixProduct product{.m = c.m,
                              .n = c.n,
                              .k = c.k,
                              .input_type = DType::bf16,
                              .output_type = DType::f32,
                              .a_is_transposed = true,
                              .accumulate = c.accumulate,
                              .a_row_stride = c.a_row_stride};
  EXPECT_TRUE(can_multiply_transposed(product));
  std::vector<float> result(static_cast<size_t>(c.m * c.n), c.accumulate ? 1.0f : std::nanf(""));
  result.push_back(std::nanf(""));
  std::vector<std::byte> workspace(transposed_workspace_bytes(product) + 64, std::byte{0xff});
  void* aligned = workspace.data();
  size_t space = workspace.size();
  std::align(64, space - 64, aligned, space);
  multiply_transposed(product, {a.data(), b.data(), nullptr, result.data()}, static_cast<std::byte*>(aligned));
  set_num_threads(before);
  EXPECT_TRUE(std::isnan(result.back()));
  result.pop_back();
  return result;
}

TEST(TransposedProduct, equals_sums_in_double) {
  if (!has_bf16_products()) GTEST_SKIP() << "this processor has no bf16 dot products";
  for (const Case& c :
       {Case{48, 48, 64, 0, false}, Case{1, 1, 1, 0, false}, Case{50, 97, 33, 0, true}, Case{16, 8, 1025, 0, false},
        Case{100, 7, 2050, 104, true}, Case{7, 130, 1024, 9, false}, Case{330, 200, 70, 0, false}}) {
    const int64_t stride = c.a_row_stride == 0 ? c.m : c.a_row_stride;
    const std::vector<bf16> a = random_matrix(c.k * stride, 1), b = random_matrix(c.k * c.n, 2);
    const std::vector<float> result = run(c, a, b, 2);
    for (int64_t i = 0; i < c.m; ++i) {
      for (int64_t j = 0; j < c.n; ++j) {
        double sum = c.accumulate ? 1 : 0, size = sum;
        for (int64_t t = 0; t < c.k; ++t) {
          const double term = double{1} * static_cast<float>(a[static_cast<size_t>(t * stride + i)]) *
                              static_cast<float>(b[static_cast<size_t>(t * c.n + j)]);
          sum += term;
          size += std::abs(term);
        }
        ASSERT_NEAR(result[static_cast<size_t>(i * c.n + j)], sum, static_cast<double>(c.k + 2) * 0x1p-24 * size)
            << c.m << " x " << c.n << " over " << c.k << " at " << i << ", " << j;
      }
    }
    EXPECT_EQ(run(c, a, b, 1), result) << "on one thread";
  }
}

TEST(TransposedProduct, is_taken_for_weight_gradients_of_some_size) {
  MatrixProduct product{.m = 768, .n = 768, .k = 4096, .input_type = DType::bf16, .output_type = DType::f32};
  product.a_is_transposed = true;
  EXPECT_EQ(multiplies_transposed(product), has_bf16_products());
  product.k = 8;
  EXPECT_FALSE(multiplies_transposed(product));
  product.k = 4096;
  product.output_type = DType::bf16;
  EXPECT_FALSE(multiplies_transposed(product));
}

}  // namespace
}  // namespace owlet::cpu
