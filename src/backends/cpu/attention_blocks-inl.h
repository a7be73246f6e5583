// Building blocks of the attention kernels, per instruction set: rows copied to f32 scratch, products of small f32
// matrices held in registers, 2^x.
//
// Scratch matrices start at multiples of 64 bytes; their rows are multiples of kFloatPadding floats long.

#if defined(OWLET_BACKENDS_CPU_ATTENTION_BLOCKS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef OWLET_BACKENDS_CPU_ATTENTION_BLOCKS_INL_H_
#undef OWLET_BACKENDS_CPU_ATTENTION_BLOCKS_INL_H_
#else
#define OWLET_BACKENDS_CPU_ATTENTION_BLOCKS_INL_H_
#endif

#include <algorithm>
#include <cstring>

#include "backends/cpu/attention_ranges.hpp"
#include "backends/cpu/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace owlet::cpu::HWY_NAMESPACE {

/// Rows of a product that are held in registers together: kTileRows * 3 sums, 3 + 1 operands.
#if HWY_TARGET <= HWY_AVX3 || HWY_ARCH_ARM_A64
inline constexpr size_t kTileRows = 8;
#else
inline constexpr size_t kTileRows = 4;
#endif
static_assert(kTileRows % BlockRanges::kGranule == 0 && kQueryBlock % kTileRows == 0 && kKeyBlock % kTileRows == 0);

/// 2^x within 2 units in the last place for -126 <= x < 128, 0 below, infinity above, NaN for NaN.
/// 2^round(x) through the exponent, the rest by the polynomial that interpolates 2^f at the Chebyshev nodes of
/// [-1/2, 1/2].
HWY_INLINE V power_of_two_real(V x) {
  const V bounded = hn::Min(set(128.0f), x);  // in this order: x86 returns the second operand where one is NaN
  const V n = hn::Round(bounded);
  const V f = hn::Sub(bounded, n);
  V p = set(1.546144470e-4f);
  p = hn::MulAdd(p, f, set(1.340042818e-3f));
  p = hn::MulAdd(p, f, set(9.618056679e-3f));
  p = hn::MulAdd(p, f, set(5.550327227e-2f));
  p = hn::MulAdd(p, f, set(2.402265092e-1f));
  p = hn::MulAdd(p, f, set(6.931472067e-1f));
  p = hn::MulAdd(p, f, set(1.0f));
  // A product, not a sum of exponents: NaN stays NaN whatever n became.
  const auto power = hn::ShiftLeft<23>(hn::Add(hn::ConvertTo(DI32(), n), hn::Set(DI32(), 127)));
  return hn::IfThenZeroElse(hn::Lt(x, set(-126.0f)), hn::Mul(p, hn::BitCast(DF(), power)));
}

/// Copies `count` elements to f32, times `factor`, and fills up with zeros to `padded`.
template <typename T>
HWY_INLINE void load_row(const T* source, size_t count, size_t padded, float factor, float* target) {
  for_each_vector(count, [&](size_t i, auto lanes)
                             HWY_ATTR { hn::StoreU(hn::Mul(load(lanes, source + i), set(factor)), DF(), target + i); });
  const size_t filled = (count + num_lanes() - 1) / num_lanes() * num_lanes();
  for (size_t i = filled; i < padded; ++i) target[i] = 0;
}

/// `num_rows` rows of k or v, `stride` elements apart, to a scratch matrix of `padded` columns; rows up to a multiple
/// of kFloatPadding become zero.
template <typename T>
void load_keys(const T* source, size_t stride, size_t num_rows, size_t count, size_t padded, float* target) {
  size_t row = 0;
  for (; row < num_rows; ++row) load_row(source + row * stride, count, padded, 1.0f, target + row * padded);
  for (; row % kFloatPadding != 0; ++row) std::memset(target + row * padded, 0, padded * sizeof(float));
}

/// Rows [begin, end) of (b, kh) of q, y or dy to a scratch matrix of sizes.padded_size columns, times `factor`; rows up
/// to kQueryBlock become zero.
template <typename T>
void load_queries(const AttentionSizes& sizes, const T* source, int64_t b, int64_t kh, int64_t begin, int64_t end,
                  float factor, float* target) {
  const auto padded = static_cast<size_t>(sizes.padded_size);
  for (int64_t row = begin; row < end; ++row, target += padded) {
    load_row(source + sizes.query_offset(b, kh, row), static_cast<size_t>(sizes.head_size), padded, factor, target);
  }
  std::memset(target, 0, static_cast<size_t>(kQueryBlock - (end - begin)) * padded * sizeof(float));
}

/// Rows and columns that transpose() moves together.
inline constexpr size_t kTransposeBlock = 4;

/// target (num_columns, kKeyBlock) = source (num_rows, stride) transposed, at most kKeyBlock rows. Both counts are
/// rounded up to kTransposeBlock: source and target must have that many.
inline void transpose(const float* source, size_t stride, size_t num_rows, size_t num_columns, float* target) {
  for (size_t column = 0; column < num_columns; column += kTransposeBlock) {
    for (size_t row = 0; row < num_rows; row += kTransposeBlock) {
      const float* from = source + row * stride + column;
      float* to = target + column * kKeyBlock + row;
#if HWY_TARGET == HWY_SCALAR
      for (size_t i = 0; i < kTransposeBlock; ++i) {
        for (size_t j = 0; j < kTransposeBlock; ++j) to[i * kKeyBlock + j] = from[j * stride + i];
      }
#else
      const hn::FixedTag<float, kTransposeBlock> d;
      const auto row0 = hn::LoadU(d, from), row1 = hn::LoadU(d, from + stride);
      const auto row2 = hn::LoadU(d, from + 2 * stride), row3 = hn::LoadU(d, from + 3 * stride);
      const auto lower01 = hn::InterleaveLower(d, row0, row1), lower23 = hn::InterleaveLower(d, row2, row3);
      const auto upper01 = hn::InterleaveUpper(d, row0, row1), upper23 = hn::InterleaveUpper(d, row2, row3);
      hn::StoreU(hn::ConcatLowerLower(d, lower23, lower01), d, to);
      hn::StoreU(hn::ConcatUpperUpper(d, lower23, lower01), d, to + kKeyBlock);
      hn::StoreU(hn::ConcatLowerLower(d, upper23, upper01), d, to + 2 * kKeyBlock);
      hn::StoreU(hn::ConcatUpperUpper(d, upper23, upper01), d, to + 3 * kKeyBlock);
#endif
    }
  }
}

/// What a product does with the numbers already in its target.
enum class Update { overwrite, add, scale_and_add };

/// A factor of a product: element (i, k) is data[i * stride + k], or data[k * stride + i] where transposed.
template <bool kIsTransposed>
struct LeftFactor {
  const float* data;
  size_t stride;

  HWY_INLINE const float* at(size_t i, size_t k) const {
    return kIsTransposed ? data + k * stride + i : data + i * stride + k;
  }
};

/// c[i, :] = a[i, :] b for kTileRows rows and kVectors vectors of columns; scale_and_add multiplies c[i, :] by
/// scales[i] first. One sum per element in the order of k.
template <size_t kVectors, Update kUpdate, bool kIsTransposed>
HWY_INLINE void multiply_tile(LeftFactor<kIsTransposed> a, const float* HWY_RESTRICT b, size_t b_stride, size_t depth,
                              float* HWY_RESTRICT c, size_t c_stride, const float* scales) {
  const DF df;
  const size_t lanes = num_lanes();
  V sums[kTileRows][kVectors];
#pragma GCC unroll 8
  for (size_t i = 0; i < kTileRows; ++i) {
#pragma GCC unroll 3
    for (size_t j = 0; j < kVectors; ++j) sums[i][j] = hn::Zero(df);
  }
  for (size_t k = 0; k < depth; ++k) {
    V columns[kVectors];
#pragma GCC unroll 3
    for (size_t j = 0; j < kVectors; ++j) columns[j] = hn::LoadU(df, b + k * b_stride + j * lanes);
#pragma GCC unroll 8
    for (size_t i = 0; i < kTileRows; ++i) {
      const V factor = hn::Set(df, *a.at(i, k));
#pragma GCC unroll 3
      for (size_t j = 0; j < kVectors; ++j) sums[i][j] = hn::MulAdd(factor, columns[j], sums[i][j]);
    }
  }
#pragma GCC unroll 8
  for (size_t i = 0; i < kTileRows; ++i) {
#pragma GCC unroll 3
    for (size_t j = 0; j < kVectors; ++j) {
      float* target = c + i * c_stride + j * lanes;
      if constexpr (kUpdate == Update::overwrite) {
        hn::StoreU(sums[i][j], df, target);
      } else if constexpr (kUpdate == Update::add) {
        hn::StoreU(hn::Add(hn::LoadU(df, target), sums[i][j]), df, target);
      } else {
        hn::StoreU(hn::MulAdd(hn::LoadU(df, target), hn::Set(df, scales[i]), sums[i][j]), df, target);
      }
    }
  }
}

/// How many of `num_vectors` remaining vectors of columns the next tile takes: 3, but no lonely one at the end.
HWY_INLINE size_t tile_vectors(size_t num_vectors) { return num_vectors == 4 ? 2 : std::min<size_t>(num_vectors, 3); }

/// The tile for a number of vectors that is known at run time only, 1 to 3.
template <Update kUpdate, bool kIsTransposed>
HWY_INLINE void multiply_vectors(size_t vectors, LeftFactor<kIsTransposed> a, const float* b, size_t b_stride,
                                 size_t depth, float* c, size_t c_stride, const float* scales = nullptr) {
  if (vectors == 3) {
    multiply_tile<3, kUpdate>(a, b, b_stride, depth, c, c_stride, scales);
  } else if (vectors == 2) {
    multiply_tile<2, kUpdate>(a, b, b_stride, depth, c, c_stride, scales);
  } else {
    multiply_tile<1, kUpdate>(a, b, b_stride, depth, c, c_stride, scales);
  }
}

/// kTileRows rows across `columns` columns, a multiple of the vector length.
template <Update kUpdate, bool kIsTransposed>
void multiply_rows(LeftFactor<kIsTransposed> a, const float* b, size_t b_stride, size_t depth, float* c,
                   size_t c_stride, size_t columns, const float* scales = nullptr) {
  const size_t lanes = num_lanes();
  for (size_t left = columns / lanes; left > 0;) {
    const size_t vectors = tile_vectors(left);
    multiply_vectors<kUpdate>(vectors, a, b, b_stride, depth, c, c_stride, scales);
    left -= vectors;
    b += vectors * lanes;
    c += vectors * lanes;
  }
}

/// sums = sums * scale + weights times `num_keys` rows of v.
template <typename T>
void add_weighted_rows(const float* weights, const T* values, size_t stride, size_t num_keys, size_t size, float scale,
                       float* sums) {
  for_each_vector(size, [&](size_t d, auto lanes) HWY_ATTR {
    V even = hn::Mul(load(lanes, sums + d), set(scale)), odd = zero();
    size_t key = 0;
    for (; key + 2 <= num_keys; key += 2) {
      even = hn::MulAdd(set(weights[key]), load(lanes, values + key * stride + d), even);
      odd = hn::MulAdd(set(weights[key + 1]), load(lanes, values + (key + 1) * stride + d), odd);
    }
    if (key < num_keys) even = hn::MulAdd(set(weights[key]), load(lanes, values + key * stride + d), even);
    store(lanes, hn::Add(even, odd), sums + d);
  });
}

/// Leaves a row of a gradient in the tensor behind the slot: factor * row, or that added to what is there.
template <typename T>
HWY_INLINE void store_row(const float* row, size_t size, float factor, bool is_added, T* target) {
  for_each_vector(size, [&](size_t d, auto lanes) HWY_ATTR {
    V value = hn::Mul(load(lanes, row + d), set(factor));
    if (is_added) value = hn::Add(value, load(lanes, target + d));
    store(lanes, value, target + d);
  });
}

inline void store_row(const float* row, size_t size, float factor, const GradientSlot& slot, int64_t offset) {
  if (slot.tensor.dtype() == DType::bf16) {
    store_row(row, size, factor, slot.accumulate, slot.tensor.data<bf16>() + offset);
  } else {
    store_row(row, size, factor, slot.accumulate, slot.tensor.data<float>() + offset);
  }
}

}  // namespace owlet::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
