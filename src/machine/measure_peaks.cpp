// All loops keep 12 accumulators in named variables: two units with a latency of 4 to 6 need that many, and g++ 12
// spills accumulators that stand in an array.
#include "machine/measure_peaks.hpp"

#include <algorithm>
#include <bit>

#include "base/parallel_for.hpp"
#include "machine/measure_timing.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace owlet {

namespace {

// Names the twelve accumulators a..l once, for `step(name)`.
#define OWLET_EACH_ACCUMULATOR(step) \
  step(a) step(b) step(c) step(d) step(e) step(f) step(g) step(h) step(i) step(j) step(k) step(l)
constexpr int kAccumulators = 12;

/// Hides `value` from the optimizer: before a loop, so that equal accumulators are not merged into one; behind it, so
/// that the loop is not removed.
template <typename T>
inline void keep(T& value) {
  asm volatile("" : "+m"(value));
}

using Float4 __attribute__((vector_size(16))) = float;

// 12 times 4 lanes: NEON on Arm64, SSE2 on the oldest x86-64.
void multiply_add_portable(int64_t num_steps) {
  const Float4 factor = {0.5f, 0.5f, 0.5f, 0.5f}, addend = {1, 1, 1, 1};
#define OWLET_DECLARE(x) \
  Float4 x = addend;     \
  keep(x);
  OWLET_EACH_ACCUMULATOR(OWLET_DECLARE)
#undef OWLET_DECLARE
  for (int64_t step = 0; step < num_steps; ++step) {
#define OWLET_STEP(x) x = x * factor + addend;
    OWLET_EACH_ACCUMULATOR(OWLET_STEP)
#undef OWLET_STEP
  }
#define OWLET_KEEP(x) keep(x);
  OWLET_EACH_ACCUMULATOR(OWLET_KEEP)
}

#if defined(__x86_64__)

__attribute__((target("avx2,fma"))) void multiply_add_avx2(int64_t num_steps) {
  const __m256 factor = _mm256_set1_ps(0.5f), addend = _mm256_set1_ps(1.0f);
#define OWLET_DECLARE(x) \
  __m256 x = addend;     \
  keep(x);
  OWLET_EACH_ACCUMULATOR(OWLET_DECLARE)
#undef OWLET_DECLARE
  for (int64_t step = 0; step < num_steps; ++step) {
#define OWLET_STEP(x) x = _mm256_fmadd_ps(x, factor, addend);
    OWLET_EACH_ACCUMULATOR(OWLET_STEP)
#undef OWLET_STEP
  }
  OWLET_EACH_ACCUMULATOR(OWLET_KEEP)
}

__attribute__((target("avx512f"))) void multiply_add_avx512(int64_t num_steps) {
  const __m512 factor = _mm512_set1_ps(0.5f), addend = _mm512_set1_ps(1.0f);
#define OWLET_DECLARE(x) \
  __m512 x = addend;     \
  keep(x);
  OWLET_EACH_ACCUMULATOR(OWLET_DECLARE)
#undef OWLET_DECLARE
  for (int64_t step = 0; step < num_steps; ++step) {
#define OWLET_STEP(x) x = _mm512_fmadd_ps(x, factor, addend);
    OWLET_EACH_ACCUMULATOR(OWLET_STEP)
#undef OWLET_STEP
  }
  OWLET_EACH_ACCUMULATOR(OWLET_KEEP)
}

__attribute__((target("avx512f,avx512bf16"))) void dot_bf16_avx512(int64_t num_steps) {
  // Every pair is (1, -1) times (1, 1): the accumulators stay 0, far from denormals and infinity.
  const auto left = std::bit_cast<__m512bh>(_mm512_set1_epi32(static_cast<int>(0xBF803F80u)));
  const auto right = std::bit_cast<__m512bh>(_mm512_set1_epi32(0x3F803F80));
#define OWLET_DECLARE(x)          \
  __m512 x = _mm512_setzero_ps(); \
  keep(x);
  OWLET_EACH_ACCUMULATOR(OWLET_DECLARE)
#undef OWLET_DECLARE
  for (int64_t step = 0; step < num_steps; ++step) {
#define OWLET_STEP(x) x = _mm512_dpbf16_ps(x, left, right);
    OWLET_EACH_ACCUMULATOR(OWLET_STEP)
#undef OWLET_STEP
  }
  OWLET_EACH_ACCUMULATOR(OWLET_KEEP)
}

__attribute__((target("avx512f,avx512vnni"))) void dot_int8_avx512(int64_t num_steps) {
  // Bytes (1, -1, 1, -1) times (1, 1, 1, 1): the accumulators stay 0.
  const __m512i left = _mm512_set1_epi32(0x01010101), right = _mm512_set1_epi32(static_cast<int>(0xFF01FF01u));
#define OWLET_DECLARE(x)              \
  __m512i x = _mm512_setzero_si512(); \
  keep(x);
  OWLET_EACH_ACCUMULATOR(OWLET_DECLARE)
#undef OWLET_DECLARE
  for (int64_t step = 0; step < num_steps; ++step) {
#define OWLET_STEP(x) x = _mm512_dpbusd_epi32(x, left, right);
    OWLET_EACH_ACCUMULATOR(OWLET_STEP)
#undef OWLET_STEP
  }
  OWLET_EACH_ACCUMULATOR(OWLET_KEEP)
}

#endif

#undef OWLET_KEEP
#undef OWLET_EACH_ACCUMULATOR

/// GFLOP/s of `kernel`, which does `flops_per_step` in each step, on all threads at once.
double measure_gflops(double seconds, double flops_per_step, void (*kernel)(int64_t num_steps)) {
  constexpr double kRoundsWanted = 12;
  const int threads = num_threads();
  int64_t num_steps = 1 << 12;
  const auto run_all = [&] { parallel_for(threads, 1, [&](int64_t, int64_t) { kernel(num_steps); }); };
  run_all();  // starts the threads
  // A busy machine can stretch any single probe, so grow until the shortest of two is long enough.
  while (std::min(seconds_of(run_all), seconds_of(run_all)) < seconds / kRoundsWanted / 2) num_steps *= 2;
  const double shortest = shortest_run_seconds(seconds, run_all);
  return static_cast<double>(num_steps) * flops_per_step * threads / shortest * 1e-9;
}

}  // namespace

double measure_f32_gflops(double seconds) {
  constexpr double kFlopsPerLane = 2.0 * kAccumulators;
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return measure_gflops(seconds, 16 * kFlopsPerLane, multiply_add_avx512);
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    return measure_gflops(seconds, 8 * kFlopsPerLane, multiply_add_avx2);
  }
#endif
  return measure_gflops(seconds, 4 * kFlopsPerLane, multiply_add_portable);
}

double measure_bf16_gflops([[maybe_unused]] double seconds) {
#if defined(__x86_64__)
  constexpr double kFlopsPerStep = 16 * 2 * 2.0 * kAccumulators;  // lanes, products per lane, multiply and add
  if (__builtin_cpu_supports("avx512bf16")) return measure_gflops(seconds, kFlopsPerStep, dot_bf16_avx512);
#endif
  return 0;
}

double measure_int8_gops([[maybe_unused]] double seconds) {
#if defined(__x86_64__)
  constexpr double kOperationsPerStep = 16 * 4 * 2.0 * kAccumulators;  // lanes, products per lane, multiply and add
  if (__builtin_cpu_supports("avx512vnni")) return measure_gflops(seconds, kOperationsPerStep, dot_int8_avx512);
#endif
  return 0;
}

}  // namespace owlet
