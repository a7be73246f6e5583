// Counter-based random numbers: every value is a pure function of (seed, stream, counter), so any position can be
// computed at once, by any thread, and a resumed run draws what the uninterrupted one would have drawn.
//
// Source: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3" (SC'11), Philox4x32-10.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace owlet {

/// One Philox4x32-10 block: 128 random bits for a 64-bit key and a 128-bit counter.
std::array<uint32_t, 4> philox4x32(uint64_t key, uint64_t counter_low, uint64_t counter_high);

/// A stream of random numbers that knows its position. Copying copies the position. Not thread-safe; give each
/// thread its own stream.
class RandomStream {
 public:
  /// Streams with different (seed, stream) are independent. `counter` is the position to start from.
  RandomStream(uint64_t seed, uint64_t stream, uint64_t counter = 0)
      : seed_(seed), stream_(stream), counter_(counter) {}

  uint64_t next_u64();
  /// Uniform in [0, bound) without bias; bound > 0.
  uint64_t next_below(uint64_t bound);
  /// Uniform in [0, 1) with 53 random bits.
  double next_double();
  /// Normal with mean 0 and variance 1 (Box-Muller on the two halves of one block, so each value moves the position
  /// by one, as next_u64 and next_double do; next_below may move it further).
  double next_normal();

  uint64_t counter() const { return counter_; }

 private:
  uint64_t seed_, stream_, counter_;
};

/// The value that RandomStream would draw at position `counter`, without state.
uint64_t random_u64(uint64_t seed, uint64_t stream, uint64_t counter);
double random_double(uint64_t seed, uint64_t stream, uint64_t counter);
double random_normal(uint64_t seed, uint64_t stream, uint64_t counter);

/// Uniform random bits of element `i` of a tensor, laid out so that vectors fill quickly: each Philox block serves the
/// four elements i, i + 16, i + 32, i + 48 of a group of 64. Different `draw`s (steps of a run) are independent. `i` is
/// below 2^34.
uint32_t element_bits(uint64_t seed, uint64_t stream, uint32_t draw, uint64_t i);

/// A 64-bit stream number from a name (FNV-1a), so that streams are named rather than numbered.
uint64_t stream_id(std::string_view name);

/// A pseudo-random permutation of [0, size) that is computed per index and needs no memory: position -> index.
/// Feistel network over the next power of four with cycle walking (Black and Rogaway, 2002).
class RandomPermutation {
 public:
  RandomPermutation(uint64_t size, uint64_t seed, uint64_t stream);
  /// The index at `position`; throws Error invalid_argument unless position < size.
  uint64_t operator()(uint64_t position) const;
  uint64_t size() const { return size_; }

 private:
  uint64_t size_, seed_, stream_;
  int half_bits_;
};

}  // namespace owlet
