// RoPE on the CPU: the angles of a token are spread out once and serve all its heads.
#include "backends/cpu/kernels.hpp"
#include "backends/cpu/simd_targets.hpp"
#include "backends/cpu/streaming.hpp"
#include "base/error.hpp"
#include "base/parallel_for.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/rope.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
//
#include <vector>

#include "backends/cpu/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace owlet::cpu::HWY_NAMESPACE {

/// Cosines and signed sines of one token. Halves: one of each per pair. Pairs: two of each per pair, the first sine
/// with the opposite sign, so that y = x * cosine + (x with its neighbours swapped) * sine.
struct Angles {
  std::vector<float> cosines, sines;

  void assign(const float* table_row, size_t num_pairs, RopeStyle style, float sign) {
    const size_t copies = style == RopeStyle::pairs ? 2 : 1;
    cosines.resize(num_pairs * copies);
    sines.resize(num_pairs * copies);
    size_t i = 0;
    if (copies == 1) {
      const size_t step = num_lanes();
      for (; i + step <= num_pairs; i += step) {
        V cosine, sine;
        hn::LoadInterleaved2(DF(), table_row + 2 * i, cosine, sine);
        hn::StoreU(cosine, DF(), cosines.data() + i);
        hn::StoreU(hn::Mul(sine, set(sign)), DF(), sines.data() + i);
      }
    }
    for (; i < num_pairs; ++i) {
      const float cosine = table_row[2 * i], sine = sign * table_row[2 * i + 1];
      if (copies == 1) {
        cosines[i] = cosine;
        sines[i] = sine;
      } else {
        cosines[2 * i] = cosines[2 * i + 1] = cosine;
        sines[2 * i] = -sine;
        sines[2 * i + 1] = sine;
      }
    }
  }
};

template <typename T, typename Lanes>
HWY_INLINE void put(Lanes lanes, V value, bool is_added, T* target) {
  store(lanes, is_added ? hn::Add(value, load(lanes, target)) : value, target);
}

/// RopeStyle::pairs.
template <typename T>
void turn_neighbours(const T* x, T* y, size_t num_pairs, const Angles& angles, bool is_added,
                     [[maybe_unused]] bool streams) {
  const float *cosines = angles.cosines.data(), *sines = angles.sines.data();
#if HWY_TARGET == HWY_SCALAR  // one lane has no neighbour
  for (size_t i = 0; i < 2 * num_pairs; i += 2) {
    const V a = load(Whole{}, x + i), b = load(Whole{}, x + i + 1);
    put(Whole{}, hn::MulAdd(b, set(sines[i]), hn::Mul(a, set(cosines[i]))), is_added, y + i);
    put(Whole{}, hn::MulAdd(a, set(sines[i + 1]), hn::Mul(b, set(cosines[i + 1]))), is_added, y + i + 1);
  }
#else
  sweep_vectors(2 * num_pairs, streams, [&](size_t i, auto lanes) HWY_ATTR {
    const V value = load(lanes, x + i);
    const V turned =
        hn::MulAdd(hn::Shuffle2301(value), load(lanes, sines + i), hn::Mul(value, load(lanes, cosines + i)));
    put(lanes, turned, is_added, y + i);
  });
#endif
}

/// One head of one token. All of a pair is read before any of it is written: y may be x.
template <typename T>
void turn_head(const T* x, T* y, size_t head_size, size_t num_pairs, const Angles& angles, const op::Rope& op,
               bool streams) {
  const float *cosines = angles.cosines.data(), *sines = angles.sines.data();
  if (op.style == RopeStyle::halves) {
    sweep_vectors(num_pairs, streams, [&](size_t i, auto lanes) HWY_ATTR {
      const V a = load(lanes, x + i), b = load(lanes, x + num_pairs + i);
      const V cosine = load(lanes, cosines + i), sine = load(lanes, sines + i);
      put(lanes, hn::NegMulAdd(b, sine, hn::Mul(a, cosine)), op.accumulate, y + i);
      put(lanes, hn::MulAdd(a, sine, hn::Mul(b, cosine)), op.accumulate, y + num_pairs + i);
    });
  } else {
    turn_neighbours(x, y, num_pairs, angles, op.accumulate, streams);
  }
  if (x == y && !op.accumulate) return;
  const size_t turned = 2 * num_pairs;
  sweep_vectors(head_size - turned, streams, [&](size_t i, auto lanes) HWY_ATTR {
    put(lanes, load(lanes, x + turned + i), op.accumulate, y + turned + i);
  });
}

template <typename T>
void turn(const op::Rope& op, bool streams, int64_t begin, int64_t end) {
  const auto head_size = static_cast<size_t>(op.x.dim(3)), num_pairs = static_cast<size_t>(op.table.dim(1));
  const int64_t heads = op.x.dim(2), row_size = heads * op.x.dim(3);
  Angles angles;
  for (int64_t token = begin; token < end; ++token) {
    const int64_t position = op.positions.data<int32_t>()[token];
    angles.assign(op.table.data<float>() + position * op.table.dim(1) * 2, num_pairs, op.style,
                  op.inverse ? -1.0f : 1.0f);
    for (int64_t head = 0; head < heads; ++head) {
      const int64_t offset = token * row_size + head * op.x.dim(3);
      turn_head(op.x.data<T>() + offset, op.y.data<T>() + offset, head_size, num_pairs, angles, op, streams);
    }
  }
  if (streams) hwy::FlushStream();
}

void turn_tokens(const op::Rope& op, bool streams, int64_t begin, int64_t end) {
  if (op.x.dtype() == DType::bf16) {
    turn<bf16>(op, streams, begin, end);
  } else {
    turn<float>(op, streams, begin, end);
  }
}

}  // namespace owlet::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace owlet::cpu {

HWY_EXPORT(turn_tokens);

void run(const op::Rope& op, KernelContext&) {
  constexpr int64_t kTokensPerRange = 16;
  const int64_t tokens = op.positions.num_elements(), num_positions = op.table.dim(0);
  for (int64_t i = 0; i < tokens; ++i) {
    const int64_t position = op.positions.data<int32_t>()[i];
    check(position >= 0 && position < num_positions, ErrorKind::invalid_argument,
          "rope: position {} of token {}, the table has {} positions", position, i, num_positions);
  }
  // A head is written in up to three stretches: two halves of what is turned, and the rest.
  const size_t half_bytes = static_cast<size_t>(op.table.dim(1)) * size_of(op.y.dtype());
  const size_t head_bytes = static_cast<size_t>(op.y.dim(3)) * size_of(op.y.dtype());
  const bool streams = !op.accumulate && head_bytes % kStreamAlignment == 0 && is_streamed(op.y, half_bytes);
  parallel_sweep(tokens, kTokensPerRange, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(turn_tokens)(op, streams, begin, end);
  });
}

}  // namespace owlet::cpu
#endif
