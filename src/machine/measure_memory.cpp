// Plain loops over memory in pieces of 64 bytes: one cache line, one AVX-512 vector.
#include "machine/measure_memory.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>

#include "base/error.hpp"
#include "base/parallel_for.hpp"
#include "machine/measure_timing.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace owlet {

namespace {

constexpr int64_t kLineBytes = 64;

/// The loops on one piece of memory, whose begin and size are multiples of 128 bytes.
struct MemoryLoops {
  /// Returns something that depends on all bytes.
  uint64_t (*read)(const char* source, int64_t size);
  void (*write)(char* target, int64_t size);
  void (*copy)(const char* source, char* target, int64_t size);
  void (*change)(char* target, int64_t size);
};

using Word4 __attribute__((vector_size(32))) = uint64_t;

uint64_t read_portable(const char* source, int64_t size) {
  Word4 sum0 = {}, sum1 = {}, sum2 = {}, sum3 = {};
  const auto* words = reinterpret_cast<const Word4*>(source);
  for (int64_t i = 0; i < size / static_cast<int64_t>(sizeof(Word4)); i += 4) {
    sum0 += words[i];
    sum1 += words[i + 1];
    sum2 += words[i + 2];
    sum3 += words[i + 3];
  }
  const Word4 sum = sum0 + sum1 + sum2 + sum3;
  return sum[0] + sum[1] + sum[2] + sum[3];
}

void change_portable(char* target, int64_t size) {
  auto* words = reinterpret_cast<Word4*>(target);
  for (int64_t i = 0; i < size / static_cast<int64_t>(sizeof(Word4)); ++i) words[i] += 1;
}

#if defined(__x86_64__)

void write_past_caches(char* target, int64_t size) {
  const __m128i value = _mm_set1_epi32(1);
  for (int64_t i = 0; i < size; i += 16) _mm_stream_si128(reinterpret_cast<__m128i*>(target + i), value);
  _mm_sfence();
}

void copy_past_caches(const char* source, char* target, int64_t size) {
  for (int64_t i = 0; i < size; i += 16) {
    const __m128i value = _mm_load_si128(reinterpret_cast<const __m128i*>(source + i));
    _mm_stream_si128(reinterpret_cast<__m128i*>(target + i), value);
  }
  _mm_sfence();
}

__attribute__((target("avx512f"))) uint64_t read_avx512(const char* source, int64_t size) {
  __m512i sum0 = _mm512_setzero_si512(), sum1 = sum0;
  for (int64_t i = 0; i < size; i += 2 * kLineBytes) {
    sum0 = _mm512_add_epi64(sum0, _mm512_load_si512(source + i));
    sum1 = _mm512_add_epi64(sum1, _mm512_load_si512(source + i + kLineBytes));
  }
  alignas(64) uint64_t lanes[8];
  _mm512_store_si512(lanes, _mm512_add_epi64(sum0, sum1));
  uint64_t sum = 0;
  for (const uint64_t lane : lanes) sum += lane;
  return sum;
}

__attribute__((target("avx512f"))) void write_avx512(char* target, int64_t size) {
  const __m512i value = _mm512_set1_epi32(1);
  for (int64_t i = 0; i < size; i += kLineBytes) {
    _mm512_stream_si512(reinterpret_cast<__m512i*>(target + i), value);
  }
  _mm_sfence();
}

__attribute__((target("avx512f"))) void copy_avx512(const char* source, char* target, int64_t size) {
  for (int64_t i = 0; i < size; i += kLineBytes) {
    _mm512_stream_si512(reinterpret_cast<__m512i*>(target + i), _mm512_load_si512(source + i));
  }
  _mm_sfence();
}

__attribute__((target("avx512f"))) void change_avx512(char* target, int64_t size) {
  const __m512i one = _mm512_set1_epi64(1);
  for (int64_t i = 0; i < size; i += kLineBytes) {
    _mm512_store_si512(target + i, _mm512_add_epi64(_mm512_load_si512(target + i), one));
  }
}

#endif

MemoryLoops best_loops() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return {read_avx512, write_avx512, copy_avx512, change_avx512};
  return {read_portable, write_past_caches, copy_past_caches, change_portable};
#else
  return {
      read_portable, [](char* target, int64_t size) { std::memset(target, 1, static_cast<size_t>(size)); },
      [](const char* source, char* target, int64_t size) { std::memcpy(target, source, static_cast<size_t>(size)); },
      change_portable};
#endif
}

constexpr int64_t kPieceBytes = 1 << 20;

}  // namespace

MemoryProbe::MemoryProbe(uint64_t buffer_bytes)
    : size_(static_cast<int64_t>(buffer_bytes) / (2 * kPieceBytes) * (2 * kPieceBytes)) {
  check(size_ > 0, ErrorKind::invalid_argument,
        "a buffer of {} bytes is too small to measure memory speed, {} at least", buffer_bytes, 2 * kPieceBytes);
  const auto size = static_cast<size_t>(size_);
  void* address = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  check(address != MAP_FAILED, ErrorKind::out_of_memory, "cannot allocate {} bytes to measure memory speed", size);
  data_ = static_cast<char*>(address);
  madvise(data_, size, MADV_HUGEPAGE);
}

MemoryProbe::~MemoryProbe() { munmap(data_, static_cast<size_t>(size_)); }

MemorySpeeds MemoryProbe::measure(double seconds) {
  const int64_t half = size_ / 2;
  const MemoryLoops loops = best_loops();
  // In one go per thread would be faster still on an idle machine, but kernels share their work like this.
  const auto gb_per_second = [&](int64_t length, int64_t moved_bytes, const auto& piece) {
    const double shortest = shortest_run_seconds(seconds, [&] { parallel_sweep(length, kPieceBytes, piece); });
    return static_cast<double>(moved_bytes) / shortest * 1e-9;
  };
  // Written first: pages never written all map one page of zeros.
  MemorySpeeds speeds;
  speeds.write_gb_per_second =
      gb_per_second(size_, size_, [&](int64_t begin, int64_t end) { loops.write(data_ + begin, end - begin); });
  speeds.read_gb_per_second = gb_per_second(size_, size_, [&](int64_t begin, int64_t end) {
    uint64_t sum = loops.read(data_ + begin, end - begin);
    asm volatile("" : "+r"(sum));  // hides from the optimizer that nobody needs it
  });
  const double copying = gb_per_second(
      half, size_, [&](int64_t begin, int64_t end) { loops.copy(data_ + begin, data_ + half + begin, end - begin); });
  const double changing =
      gb_per_second(size_, 2 * size_, [&](int64_t begin, int64_t end) { loops.change(data_ + begin, end - begin); });
  speeds.copy_gb_per_second = std::max(copying, changing);
  return speeds;
}

MemorySpeeds measure_memory(double seconds, uint64_t buffer_bytes) {
  return MemoryProbe(buffer_bytes).measure(seconds);
}

}  // namespace owlet
