#include "backends/cpu/transposed_product.hpp"

#include <algorithm>
#include <cstring>

#include "backends/cpu/instruction_set.hpp"
#include "base/error.hpp"
#include "base/parallel_for.hpp"

namespace owlet::cpu {
namespace {

/// Tokens whose products are summed in registers; even.
constexpr int64_t kPanelRows = 1024;
/// Columns of A or B that are copied side by side, and rows and columns of C that belong together.
constexpr int64_t kBlock = 48;

int64_t blocks_of(int64_t columns) { return (columns + kBlock - 1) / kBlock; }

int64_t panel_pairs(const MatrixProduct& product) { return (std::min(product.k, kPanelRows) + 1) / 2; }

}  // namespace

bool can_multiply_transposed(const MatrixProduct& product) {
  return product.a_is_transposed && !product.b_is_transposed && !product.b_is_packed && !product.has_bias &&
         product.input_type == DType::bf16 && product.output_type == DType::f32 && has_bf16_products();
}

bool multiplies_transposed(const MatrixProduct& product) {
  constexpr int64_t kFewestTokens = 512, kSmallest = 512, kLargest = 16384;
  return can_multiply_transposed(product) && product.k >= kFewestTokens &&
         std::min(product.m, product.n) >= kSmallest && std::max(product.m, product.n) <= kLargest;
}

size_t transposed_workspace_bytes(const MatrixProduct& product) {
  const int64_t columns = (blocks_of(product.m) + blocks_of(product.n)) * kBlock;
  return static_cast<size_t>(columns * panel_pairs(product)) * sizeof(uint32_t);
}

}  // namespace owlet::cpu

#if defined(__x86_64__)

#include "backends/cpu/bf16_products-inl.h"

namespace owlet::cpu {
namespace {

constexpr int kTileRows = 8, kTileVectors = kBlock / kLanes;

/// A matrix (rows, columns) of which a stretch of rows is copied: to (blocks, pairs of rows, kBlock), where columns
/// behind the last are zero.
struct Operand {
  const bf16* data;
  int64_t rows, columns, row_stride;
  uint32_t* packed;

  /// Pairs [begin, end) of the `num_pairs` that begin at row `first`; behind the last row is zero.
  void pack(int64_t first, int64_t num_pairs, int64_t begin, int64_t end) const {
    for (int64_t pair = begin; pair < end; ++pair) {
      const int64_t row = first + 2 * pair;
      const bf16* upper = data + row * row_stride;
      const bool has_lower = row + 1 < rows;
      const bf16* lower = has_lower ? upper + row_stride : upper;
      for (int64_t column = 0; column < columns; column += kBlock) {
        uint32_t* target = packed + column * num_pairs + pair * kBlock;
#pragma GCC unroll 3
        for (int64_t i = 0; i < kBlock; i += kLanes) {
          const __mmask16 mask = first_of_16(columns - column - i), lower_mask = has_lower ? mask : __mmask16(0);
          const __m512i low = _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(mask, upper + column + i));
          const __m512i high = _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(lower_mask, lower + column + i));
          _mm512_storeu_si512(target + i, _mm512_or_si512(low, _mm512_slli_epi32(high, 16)));
        }
      }
    }
  }
};

/// `rows` rows (at most kTileRows) and `columns` columns (at most kBlock) of C.
void multiply_block_rows(const uint32_t* a, const uint32_t* b, int64_t num_pairs, float* c, int64_t c_stride,
                         int64_t rows, int64_t columns, bool adds) {
  for (int64_t i = 0; i < rows; ++i) {
    const auto* line = reinterpret_cast<const char*>(c + i * c_stride);
    for (int64_t j = 0; j < kBlock * 4; j += 64) _mm_prefetch(line + j, _MM_HINT_T0);
  }
  __m512 sums[kTileRows][kTileVectors];
  multiply_in_registers(PairFactor{a, sizeof(uint32_t), kBlock * sizeof(uint32_t)}, b, kBlock, num_pairs, sums);
#pragma GCC unroll 8
  for (int i = 0; i < kTileRows; ++i) {
    if (i >= rows) break;
#pragma GCC unroll 3
    for (int j = 0; j < kTileVectors; ++j) {
      const __mmask16 mask = first_of_16(columns - j * kLanes);
      float* target = c + i * c_stride + j * kLanes;
      const __m512 before = adds ? _mm512_maskz_loadu_ps(mask, target) : _mm512_setzero_ps();
      _mm512_mask_storeu_ps(target, mask, _mm512_add_ps(before, sums[i][j]));
    }
  }
}

/// How blocks of C are divided into tasks: a group of rows of blocks stays in the second-level cache while blocks of
/// columns pass by.
struct Tasks {
  int64_t row_blocks, column_blocks;
  int64_t rows_per_task, columns_per_task;

  explicit Tasks(const MatrixProduct& product) : row_blocks(blocks_of(product.m)), column_blocks(blocks_of(product.n)) {
    constexpr int64_t kRowsInCache = 6, kTasksPerThread = 4;
    rows_per_task = std::min(row_blocks, kRowsInCache);
    columns_per_task = column_blocks;
    const int64_t wanted = kTasksPerThread * num_threads();
    while (count() < wanted && columns_per_task > 1) columns_per_task = (columns_per_task + 1) / 2;
    while (count() < wanted && rows_per_task > 1) rows_per_task = (rows_per_task + 1) / 2;
  }
  int64_t task_rows() const { return (row_blocks + rows_per_task - 1) / rows_per_task; }
  int64_t count() const { return task_rows() * ((column_blocks + columns_per_task - 1) / columns_per_task); }
};

class TransposedProduct {
 public:
  TransposedProduct(const MatrixProduct& product, const MatrixProductData& data, std::byte* workspace)
      : product_(product),
        tasks_(product),
        c_(static_cast<float*>(data.c)),
        a_{static_cast<const bf16*>(data.a), product.k, product.m,
           product.a_row_stride == 0 ? product.m : product.a_row_stride, reinterpret_cast<uint32_t*>(workspace)},
        b_{static_cast<const bf16*>(data.b), product.k, product.n, product.n,
           a_.packed + tasks_.row_blocks * kBlock * panel_pairs(product)} {}

  void run() {
    constexpr int64_t kPairsPerRange = 16;
    for (int64_t first = 0; first < product_.k; first += kPanelRows) {
      const int64_t num_pairs = (std::min(product_.k - first, kPanelRows) + 1) / 2;
      parallel_for(num_pairs, kPairsPerRange, [&](int64_t begin, int64_t end) {
        a_.pack(first, num_pairs, begin, end);
        b_.pack(first, num_pairs, begin, end);
      });
      const bool adds = product_.accumulate || first > 0;
      parallel_for(tasks_.count(), 1, [&](int64_t begin, int64_t end) {
        for (int64_t task = begin; task < end; ++task) run_task(task, num_pairs, adds);
      });
    }
  }

 private:
  void run_task(int64_t task, int64_t num_pairs, bool adds) const {
    const int64_t row = task % tasks_.task_rows() * tasks_.rows_per_task;
    const int64_t column = task / tasks_.task_rows() * tasks_.columns_per_task;
    for (int64_t j = column; j < std::min(column + tasks_.columns_per_task, tasks_.column_blocks); ++j) {
      for (int64_t i = row; i < std::min(row + tasks_.rows_per_task, tasks_.row_blocks); ++i) {
        run_block(i, j, num_pairs, adds);
      }
    }
  }

  void run_block(int64_t i, int64_t j, int64_t num_pairs, bool adds) const {
    const int64_t rows = std::min(kBlock, product_.m - i * kBlock), columns = std::min(kBlock, product_.n - j * kBlock);
    const uint32_t *a = a_.packed + i * kBlock * num_pairs, *b = b_.packed + j * kBlock * num_pairs;
    float* c = c_ + i * kBlock * product_.n + j * kBlock;
    for (int64_t row = 0; row < rows; row += kTileRows) {
      multiply_block_rows(a + row, b, num_pairs, c + row * product_.n, product_.n,
                          std::min<int64_t>(kTileRows, rows - row), columns, adds);
    }
  }

  const MatrixProduct& product_;
  const Tasks tasks_;
  float* const c_;
  const Operand a_, b_;
};

}  // namespace

void multiply_transposed(const MatrixProduct& product, const MatrixProductData& data, std::byte* workspace) {
  TransposedProduct(product, data, workspace).run();
}

}  // namespace owlet::cpu
OWLET_END_AVX512_BF16

#else

namespace owlet::cpu {
void multiply_transposed(const MatrixProduct&, const MatrixProductData&, std::byte*) {
  fail(ErrorKind::internal, "products with bf16 dot products are not built for this processor");
}
}  // namespace owlet::cpu

#endif
