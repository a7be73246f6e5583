// Matrix products of small matrices for processors with AVX512_BF16: dot products of bf16 pairs into f32.
//
// Everything is a product C (rows, columns) = A (rows, depth) B (depth, columns) of small matrices whose contracted
// index runs over pairs: an element of A and B is two neighbouring bf16 in 32 bits. Elements of A are broadcast from
// memory, so A may have any strides: rows of k and v are used where they lie. Rows of B are vectors.
//
// Highway 1.0 does not know vdpbf16ps, hence intrinsics. Include after all other headers, inside namespace owlet::cpu.

#if !defined(__clang__)
// g++ 12 takes the "undefined" operand inside its own intrinsics for a mistake.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif
#include <immintrin.h>

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512bf16"))), \
                             apply_to = function)
#define OWLET_END_AVX512_BF16 _Pragma("clang attribute pop")
#else
#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512vl,avx512dq,avx512bf16")
#define OWLET_END_AVX512_BF16 _Pragma("GCC pop_options") _Pragma("GCC diagnostic pop")
#endif

namespace owlet::cpu {
namespace {

/// f32 or bf16 pairs per vector.
constexpr int64_t kLanes = 16;
/// An operand that is broadcast: element (i, k) is the 32 bits at data + i * row_bytes + k * depth_bytes.
struct PairFactor {
  const void* data;
  int64_t row_bytes, depth_bytes;

  PairFactor from_row(int64_t row) const {
    return {static_cast<const std::byte*>(data) + row * row_bytes, row_bytes, depth_bytes};
  }
};

/// What a product does with the numbers already in its target; scale_and_add multiplies column j by scales[j] first.
enum class TileUpdate { overwrite, add, scale_and_add };

inline __m512bh as_pairs(__m512i bits) { return (__m512bh)bits; }  // NOLINT: a cast that each compiler has

inline __m512 multiply_pairs(__m512 sum, __m512i a, __m512i b) {
  return _mm512_dpbf16_ps(sum, as_pairs(a), as_pairs(b));
}

/// sums (kRows, kVectors vectors of columns) = a b, one sum per element in the order of the pairs.
template <int kRows, int kVectors>
inline void multiply_in_registers(PairFactor a, const uint32_t* __restrict b, int64_t b_stride, int64_t depth,
                                  __m512 (&sums)[kRows][kVectors]) {
#pragma GCC unroll 16
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 4
    for (int j = 0; j < kVectors; ++j) sums[i][j] = _mm512_setzero_ps();
  }
  const auto* factor = static_cast<const std::byte*>(a.data);
  for (int64_t k = 0; k < depth; ++k, factor += a.depth_bytes, b += b_stride) {
    __m512i columns[kVectors];
#pragma GCC unroll 4
    for (int j = 0; j < kVectors; ++j) columns[j] = _mm512_loadu_si512(b + j * kLanes);
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i) {
      int32_t pair;
      std::memcpy(&pair, factor + i * a.row_bytes, sizeof pair);
      const __m512i broadcast = _mm512_set1_epi32(pair);
#pragma GCC unroll 4
      for (int j = 0; j < kVectors; ++j) sums[i][j] = multiply_pairs(sums[i][j], broadcast, columns[j]);
    }
  }
}

/// sums0 = a0 b0 and sums1 = a1 b1 side by side.
template <int kRows, int kVectors>
inline void multiply_both_in_registers(PairFactor a0, const uint32_t* __restrict b0, __m512 (&sums0)[kRows][kVectors],
                                       PairFactor a1, const uint32_t* __restrict b1, __m512 (&sums1)[kRows][kVectors],
                                       int64_t b_stride, int64_t depth) {
#pragma GCC unroll 16
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 4
    for (int j = 0; j < kVectors; ++j) sums0[i][j] = sums1[i][j] = _mm512_setzero_ps();
  }
  const auto *factor0 = static_cast<const std::byte*>(a0.data), *factor1 = static_cast<const std::byte*>(a1.data);
  const auto add = [](const std::byte* factor, int64_t row_bytes, const uint32_t* b, __m512(&sums)[kRows][kVectors]) {
    __m512i columns[kVectors];
#pragma GCC unroll 4
    for (int j = 0; j < kVectors; ++j) columns[j] = _mm512_loadu_si512(b + j * kLanes);
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i) {
      int32_t pair;
      std::memcpy(&pair, factor + i * row_bytes, sizeof pair);
      const __m512i broadcast = _mm512_set1_epi32(pair);
#pragma GCC unroll 4
      for (int j = 0; j < kVectors; ++j) sums[i][j] = multiply_pairs(sums[i][j], broadcast, columns[j]);
    }
  };
  for (int64_t k = 0; k < depth; ++k, b0 += b_stride, b1 += b_stride) {
    add(factor0, a0.row_bytes, b0, sums0);
    add(factor1, a1.row_bytes, b1, sums1);
    factor0 += a0.depth_bytes, factor1 += a1.depth_bytes;
  }
}

/// c (kRows, kVectors vectors) = a b.
template <int kRows, int kVectors, TileUpdate kUpdate>
inline void multiply_tile(PairFactor a, const uint32_t* __restrict b, int64_t b_stride, int64_t depth,
                          float* __restrict c, int64_t c_stride, const float* scales) {
  __m512 sums[kRows][kVectors];
  multiply_in_registers(a, b, b_stride, depth, sums);
#pragma GCC unroll 16
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 4
    for (int j = 0; j < kVectors; ++j) {
      float* target = c + i * c_stride + j * kLanes;
      __m512 value = sums[i][j];
      if constexpr (kUpdate == TileUpdate::add) value = _mm512_add_ps(value, _mm512_loadu_ps(target));
      if constexpr (kUpdate == TileUpdate::scale_and_add) {
        value = _mm512_fmadd_ps(_mm512_loadu_ps(target), _mm512_loadu_ps(scales + j * kLanes), value);
      }
      _mm512_storeu_ps(target, value);
    }
  }
}

/// Any number of rows, kVectors vectors. kRows tiles fill the registers; the last rows go four, two or one at a time.
template <int kRows, int kVectors, TileUpdate kUpdate>
void multiply_columns(PairFactor a, int64_t rows, const uint32_t* b, int64_t b_stride, int64_t depth, float* c,
                      int64_t c_stride, const float* scales) {
  int64_t row = 0;
  const auto run = [&]<int kTile>() {
    for (; row + kTile <= rows; row += kTile) {
      multiply_tile<kTile, kVectors, kUpdate>(a.from_row(row), b, b_stride, depth, c + row * c_stride, c_stride,
                                              scales);
    }
  };
  run.template operator()<kRows>();
  run.template operator()<4>();
  run.template operator()<2>();
  run.template operator()<1>();
}

/// c (rows, columns) = a (rows, depth) b (depth, columns), columns a multiple of kLanes.
template <TileUpdate kUpdate>
void multiply(PairFactor a, int64_t rows, const uint32_t* b, int64_t b_stride, int64_t depth, float* c,
              int64_t c_stride, int64_t columns, const float* scales = nullptr) {
  for (int64_t left = columns / kLanes; left > 0;) {
    // Five vectors are three and two rather than four and a lonely one.
    const int64_t vectors = left == 5 ? 3 : std::min<int64_t>(left, 4);
    switch (vectors) {
      case 4:
        multiply_columns<6, 4, kUpdate>(a, rows, b, b_stride, depth, c, c_stride, scales);
        break;
      case 3:
        multiply_columns<8, 3, kUpdate>(a, rows, b, b_stride, depth, c, c_stride, scales);
        break;
      case 2:
        multiply_columns<12, 2, kUpdate>(a, rows, b, b_stride, depth, c, c_stride, scales);
        break;
      default:
        multiply_columns<16, 1, kUpdate>(a, rows, b, b_stride, depth, c, c_stride, scales);
    }
    b += vectors * kLanes;
    c += vectors * kLanes;
    if (scales != nullptr) scales += vectors * kLanes;
    left -= vectors;
  }
}

/// Mask of the first `count` of 16 or 32 elements; all for more, none for negative counts.
inline __mmask16 first_of_16(int64_t count) {
  return count >= 16 ? __mmask16(0xffff) : __mmask16((1u << std::max<int64_t>(count, 0)) - 1);
}
inline __mmask32 first_of_32(int64_t count) {
  return count >= 32 ? ~__mmask32(0) : __mmask32((1u << std::max<int64_t>(count, 0)) - 1);
}

}  // namespace
}  // namespace owlet::cpu
