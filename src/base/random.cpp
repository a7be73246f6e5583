#include "base/random.hpp"

#include <bit>
#include <cmath>
#include <numbers>

#include "base/error.hpp"

namespace owlet {

namespace {

// Multipliers and key increments of Philox4x32 (table 2 of the paper).
constexpr uint32_t kMultiplier0 = 0xD2511F53u, kMultiplier1 = 0xCD9E8D57u;
constexpr uint32_t kWeyl0 = 0x9E3779B9u, kWeyl1 = 0xBB67AE85u;
constexpr int kPhiloxRounds = 10;

// Black and Rogaway ask for at least 3 rounds; small domains mix poorly with few.
constexpr int kFeistelRounds = 6;

uint64_t join(uint32_t low, uint32_t high) { return uint64_t{high} << 32 | low; }

/// Uniform in [0, 1): the upper 53 bits as a fraction.
double to_unit_interval(uint64_t bits) { return static_cast<double>(bits >> 11) * 0x1.0p-53; }

}  // namespace

std::array<uint32_t, 4> philox4x32(uint64_t key, uint64_t counter_low, uint64_t counter_high) {
  uint32_t key0 = static_cast<uint32_t>(key), key1 = static_cast<uint32_t>(key >> 32);
  uint32_t word0 = static_cast<uint32_t>(counter_low), word1 = static_cast<uint32_t>(counter_low >> 32);
  uint32_t word2 = static_cast<uint32_t>(counter_high), word3 = static_cast<uint32_t>(counter_high >> 32);
  for (int round = 0; round < kPhiloxRounds; ++round) {
    const uint64_t product0 = uint64_t{kMultiplier0} * word0;
    const uint64_t product1 = uint64_t{kMultiplier1} * word2;
    word0 = static_cast<uint32_t>(product1 >> 32) ^ word1 ^ key0;
    word1 = static_cast<uint32_t>(product1);
    word2 = static_cast<uint32_t>(product0 >> 32) ^ word3 ^ key1;
    word3 = static_cast<uint32_t>(product0);
    key0 += kWeyl0;
    key1 += kWeyl1;
  }
  return {word0, word1, word2, word3};
}

uint64_t random_u64(uint64_t seed, uint64_t stream, uint64_t counter) {
  const auto block = philox4x32(seed, counter, stream);
  return join(block[0], block[1]);
}

double random_double(uint64_t seed, uint64_t stream, uint64_t counter) {
  return to_unit_interval(random_u64(seed, stream, counter));
}

double random_normal(uint64_t seed, uint64_t stream, uint64_t counter) {
  const auto block = philox4x32(seed, counter, stream);
  const double radius_draw = 1.0 - to_unit_interval(join(block[0], block[1]));  // in (0, 1]: log stays finite
  const double angle_draw = to_unit_interval(join(block[2], block[3]));
  return std::sqrt(-2.0 * std::log(radius_draw)) * std::cos(2.0 * std::numbers::pi * angle_draw);
}

uint32_t element_bits(uint64_t seed, uint64_t stream, uint32_t draw, uint64_t i) {
  const uint64_t block = i / 64 * 16 + i % 16;
  return philox4x32(seed, uint64_t{draw} << 32 | block, stream)[i / 16 % 4];
}

uint64_t RandomStream::next_u64() { return random_u64(seed_, stream_, counter_++); }

double RandomStream::next_double() { return random_double(seed_, stream_, counter_++); }

double RandomStream::next_normal() { return random_normal(seed_, stream_, counter_++); }

uint64_t RandomStream::next_below(uint64_t bound) {
  check(bound > 0, ErrorKind::invalid_argument, "random number below {} asked, bound must be at least 1", bound);
  // Lemire, "Fast random integer generation in an interval" (2019): the product's upper half is uniform once the
  // 2^64 mod bound smallest lower halves are refused.
  __extension__ using uint128 = unsigned __int128;
  uint128 product = static_cast<uint128>(next_u64()) * bound;
  if (static_cast<uint64_t>(product) < bound) {
    const uint64_t threshold = (0 - bound) % bound;
    while (static_cast<uint64_t>(product) < threshold) {
      product = static_cast<uint128>(next_u64()) * bound;
    }
  }
  return static_cast<uint64_t>(product >> 64);
}

uint64_t stream_id(std::string_view name) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : name) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 0x100000001b3u;
  }
  return hash;
}

RandomPermutation::RandomPermutation(uint64_t size, uint64_t seed, uint64_t stream)
    : size_(size), seed_(seed), stream_(stream) {
  const int bits = size <= 1 ? 0 : std::bit_width(size - 1);
  half_bits_ = (bits + 1) / 2;
}

uint64_t RandomPermutation::operator()(uint64_t position) const {
  check(position < size_, ErrorKind::invalid_argument, "position {} is outside a permutation of {} items", position,
        size_);
  const uint64_t mask = (uint64_t{1} << half_bits_) - 1;
  uint64_t value = position;
  do {  // the domain is below four times the size, so this walks fewer than four steps on average
    uint64_t left = value >> half_bits_, right = value & mask;
    for (uint64_t round = 0; round < kFeistelRounds; ++round) {
      const uint64_t mixed = left ^ (random_u64(seed_, stream_, round << 32 | right) & mask);
      left = right;
      right = mixed;
    }
    value = left << half_bits_ | right;
  } while (value >= size_);
  return value;
}

}  // namespace owlet
