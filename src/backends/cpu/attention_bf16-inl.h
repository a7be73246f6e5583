// Building blocks of the attention kernels for processors with AVX512_BF16, beside the products of
// bf16_products-inl.h. Include after all other headers; OWLET_END_AVX512_BF16 ends what this begins.

#include "backends/cpu/bf16_products-inl.h"

namespace owlet::cpu {
namespace {

/// Vectors of a block of queries.
constexpr int64_t kQueryVectors = kQueryBlock / kLanes;

/// Keys at a time where masks cut into a block: less of it is computed for nothing.
constexpr int64_t kMaskedKeys = 32;

/// 2^x within 3e-6 of its value (a bf16 is rounded by up to 2e-3), 1 for 0, 0 far below, NaN for NaN: 2^round(x)
/// through the exponent, the rest by the polynomial 1 + f (...) of degree 4 with the least relative error on [-1/2,
/// 1/2].
inline __m512 power_of_two(__m512 x) {
  const __m512 n = _mm512_roundscale_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  const __m512 f = _mm512_sub_ps(x, n);
  __m512 p = _mm512_set1_ps(9.58285e-3f);
  p = _mm512_fmadd_ps(p, f, _mm512_set1_ps(5.590642e-2f));
  p = _mm512_fmadd_ps(p, f, _mm512_set1_ps(2.4024099e-1f));
  p = _mm512_fmadd_ps(p, f, _mm512_set1_ps(6.9312419e-1f));
  p = _mm512_fmadd_ps(p, f, _mm512_set1_ps(1.0f));
  return _mm512_scalef_ps(p, n);
}

/// Natural logarithm of positive normal numbers within 2 units in the last place: x = 2^e m with m in [3/4, 3/2),
/// log m = 2 artanh((m - 1) / (m + 1)) by its series, whose next term is below 1e-9.
inline __m512 natural_log(__m512 x) {
  const __m512 m = _mm512_getmant_ps(x, _MM_MANT_NORM_p75_1p5, _MM_MANT_SIGN_src);
  const __m512 one = _mm512_set1_ps(1.0f);
  const __m512 e = _mm512_getexp_ps(_mm512_div_ps(x, m));
  const __m512 s = _mm512_div_ps(_mm512_sub_ps(m, one), _mm512_add_ps(m, one));
  const __m512 s2 = _mm512_mul_ps(s, s);
  __m512 p = _mm512_set1_ps(2.0f / 11);
  p = _mm512_fmadd_ps(p, s2, _mm512_set1_ps(2.0f / 9));
  p = _mm512_fmadd_ps(p, s2, _mm512_set1_ps(2.0f / 7));
  p = _mm512_fmadd_ps(p, s2, _mm512_set1_ps(2.0f / 5));
  p = _mm512_fmadd_ps(p, s2, _mm512_set1_ps(2.0f / 3));
  p = _mm512_fmadd_ps(_mm512_mul_ps(p, s2), s, _mm512_add_ps(s, s));
  return _mm512_fmadd_ps(e, _mm512_set1_ps(std::numbers::ln2_v<float>), p);
}

/// Two vectors rounded to bf16 one behind the other.
inline __m512i round_both(__m512 first, __m512 second) { return (__m512i)_mm512_cvtne2ps_pbh(second, first); }

/// What round_both() gave, lane by lane side by side: (first, second) of each lane in 32 bits.
inline __m512i side_by_side(__m512i both) {
  const __m512i lanes = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
  const __m512i words = _mm512_or_si512(lanes, _mm512_slli_epi32(_mm512_add_epi32(lanes, _mm512_set1_epi32(16)), 16));
  return _mm512_permutexvar_epi16(words, both);
}

/// The two halves of what round_both() gave, each to its own place.
inline void store_both(__m512i both, uint16_t* first, uint16_t* second) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(first), _mm512_castsi512_si256(both));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(second), _mm512_extracti64x4_epi64(both, 1));
}

/// A 16 x 16 matrix of 32-bit elements, transposed.
inline void transpose_16(__m512i (&r)[16]) {
  __m512i a[16], b[16];
#pragma GCC unroll 8
  for (int i = 0; i < 8; ++i) {
    a[2 * i] = _mm512_unpacklo_epi32(r[2 * i], r[2 * i + 1]);
    a[2 * i + 1] = _mm512_unpackhi_epi32(r[2 * i], r[2 * i + 1]);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 16; i += 4) {
    b[i] = _mm512_unpacklo_epi64(a[i], a[i + 2]);
    b[i + 1] = _mm512_unpackhi_epi64(a[i], a[i + 2]);
    b[i + 2] = _mm512_unpacklo_epi64(a[i + 1], a[i + 3]);
    b[i + 3] = _mm512_unpackhi_epi64(a[i + 1], a[i + 3]);
  }
#pragma GCC unroll 4
  for (int j = 0; j < 4; ++j) {
    const __m512i even01 = _mm512_shuffle_i32x4(b[j], b[4 + j], 0x88);
    const __m512i even23 = _mm512_shuffle_i32x4(b[8 + j], b[12 + j], 0x88);
    const __m512i odd01 = _mm512_shuffle_i32x4(b[j], b[4 + j], 0xdd);
    const __m512i odd23 = _mm512_shuffle_i32x4(b[8 + j], b[12 + j], 0xdd);
    r[j] = _mm512_shuffle_i32x4(even01, even23, 0x88);
    r[j + 4] = _mm512_shuffle_i32x4(odd01, odd23, 0x88);
    r[j + 8] = _mm512_shuffle_i32x4(even01, even23, 0xdd);
    r[j + 12] = _mm512_shuffle_i32x4(odd01, odd23, 0xdd);
  }
}

/// Asks for rows of bf16 that are wanted soon: they lie a stride apart, which the processor does not foresee.
template <typename Row>
void prefetch_rows(const Row& row, int64_t num_rows, int64_t size) {
  constexpr int64_t kLineElements = 64 / sizeof(bf16);
  for (int64_t i = 0; i < num_rows; ++i) {
    const bf16* begin = row(i);
    for (int64_t d = 0; d < size; d += kLineElements)
      _mm_prefetch(reinterpret_cast<const char*>(begin + d), _MM_HINT_T0);
    _mm_prefetch(reinterpret_cast<const char*>(begin + size - 1), _MM_HINT_T0);
  }
}

/// Rows of bf16 that may lie anywhere: `row(i)` points at row i, num_rows of them, `size` elements each.
///
/// pack_columns: target (pairs of columns, kQueryBlock) with the rows as lanes; rows up to kQueryBlock become zero, an
/// odd last column is paired with zero.
template <typename Row>
void pack_columns(const Row& row, int64_t num_rows, int64_t size, uint32_t* target) {
  const int64_t num_pairs = (size + 1) / 2;
  for (int64_t first = 0; first < kQueryBlock; first += kLanes) {
    for (int64_t pair = 0; pair < num_pairs; pair += kLanes) {
      __m512i block[16];
      const __mmask32 mask = first_of_32(size - 2 * pair);
#pragma GCC unroll 16
      for (int i = 0; i < 16; ++i) {
        block[i] =
            first + i < num_rows ? _mm512_maskz_loadu_epi16(mask, row(first + i) + 2 * pair) : _mm512_setzero_si512();
      }
      transpose_16(block);
      const int64_t count = std::min(kLanes, num_pairs - pair);
      for (int64_t i = 0; i < count; ++i) {
        _mm512_storeu_si512(target + (pair + i) * kQueryBlock + first, block[i]);
      }
    }
  }
}

/// pack_rows: target (pairs of rows, padded_size) with the columns as lanes; rows up to an even number, and columns up
/// to padded_size, become zero.
template <typename Row>
void pack_rows(const Row& row, int64_t num_rows, int64_t size, int64_t padded_size, uint32_t* target) {
  for (int64_t first = 0; first < num_rows; first += 2, target += padded_size) {
    const bool has_second = first + 1 < num_rows;
    const bf16 *upper = row(first), *lower = has_second ? row(first + 1) : upper;
    for (int64_t i = 0; i < padded_size; i += kLanes) {
      const __mmask16 mask = first_of_16(size - i), lower_mask = has_second ? mask : __mmask16(0);
      const __m512i low = _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(mask, upper + i));
      const __m512i high = _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(lower_mask, lower + i));
      _mm512_storeu_si512(target + i, _mm512_or_si512(low, _mm512_slli_epi32(high, 16)));
    }
  }
}

/// Rows of k or v as a factor whose depth runs over pairs of columns: where they lie, or, for an odd size, from a copy
/// in `scratch` (num_rows, (size + 1) / 2) that ends with zeros.
inline PairFactor rows_as_factor(const bf16* rows, int64_t stride, int64_t num_rows, int64_t size, uint32_t* scratch) {
  constexpr int64_t kPairBytes = sizeof(uint32_t);
  if (size % 2 == 0) return {rows, stride * static_cast<int64_t>(sizeof(bf16)), kPairBytes};
  const int64_t num_pairs = (size + 1) / 2;
  for (int64_t i = 0; i < num_rows; ++i) {
    auto* copy = reinterpret_cast<bf16*>(scratch + i * num_pairs);
    std::memcpy(copy, rows + i * stride, static_cast<size_t>(size) * sizeof(bf16));
    copy[size] = bf16(0.0f);
  }
  return {scratch, num_pairs * kPairBytes, kPairBytes};
}

/// Vectors [begin, end) of a block of queries that see any key of [key_begin, key_end).
struct VectorRange {
  int64_t begin = kQueryVectors, end = 0;

  VectorRange(const BlockRanges& ranges, int32_t key_begin, int32_t key_end) {
    for (int64_t v = 0; v < kQueryVectors; ++v) {
      if (!ranges.bounds(v * kLanes, (v + 1) * kLanes).sees_any(key_begin, key_end)) continue;
      begin = std::min(begin, v);
      end = v + 1;
    }
  }
  bool is_empty() const { return begin >= end; }
  int64_t columns() const { return (end - begin) * kLanes; }
};

/// Lanes of one vector of queries that see `key`.
struct VisibleLanes {
  __m512i first, last;

  VisibleLanes(const BlockRanges& ranges, int64_t vector)
      : first(_mm512_loadu_si512(ranges.first.data() + vector * kLanes)),
        last(_mm512_loadu_si512(ranges.last.data() + vector * kLanes)) {}
  __mmask16 of(int32_t key) const {
    const __m512i index = _mm512_set1_epi32(key);
    return _mm512_cmple_epi32_mask(first, index) & _mm512_cmpge_epi32_mask(last, index);
  }
};

}  // namespace
}  // namespace owlet::cpu
