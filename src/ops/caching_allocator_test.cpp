#include "ops/caching_allocator.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>

#include "base/error.hpp"
#include "base/random.hpp"

namespace owlet {
namespace {

TEST(CachingAllocator, BlocksAreAlignedAndDisjoint) {
  CachingAllocator allocator(make_system_memory_source(size_t{64} << 20));
  std::vector<BufferHandle> buffers;
  for (size_t size : {1u, 63u, 512u, 513u, 100000u}) {
    buffers.push_back(allocator.allocate(size, MemoryKind::other));
    EXPECT_EQ(reinterpret_cast<uintptr_t>(buffers.back()->data) % 64, 0u);
    std::memset(buffers.back()->data, static_cast<int>(buffers.size()), size);
  }
  for (size_t i = 0; i < buffers.size(); ++i) {
    for (size_t b = 0; b < buffers[i]->size_bytes; ++b) ASSERT_EQ(static_cast<size_t>(buffers[i]->data[b]), i + 1);
  }
}

TEST(CachingAllocator, FreedNeighboursMergeAndAreUsedAgain) {
  CachingAllocator allocator(make_virtual_memory_source());
  auto a = allocator.allocate(1024, MemoryKind::other), b = allocator.allocate(1024, MemoryKind::other);
  auto c = allocator.allocate(1024, MemoryKind::other);
  a.reset();
  b.reset();
  const auto ab = allocator.allocate(2048, MemoryKind::other);
  EXPECT_EQ(allocator.statistics().arena_bytes, 3072u);
  c.reset();
  // The free end of the arena becomes part of a larger block.
  const auto d = allocator.allocate(4096, MemoryKind::other);
  EXPECT_EQ(allocator.statistics().arena_bytes, 2048u + 4096u);
}

TEST(CachingAllocator, CountsByKindAndRemembersThePeak) {
  CachingAllocator allocator(make_virtual_memory_source());
  auto weights = allocator.allocate(1024, MemoryKind::weights);
  { const auto scratch = allocator.allocate(2048, MemoryKind::workspace); }
  const MemoryStatistics statistics = allocator.statistics();
  EXPECT_EQ(statistics.in_use_bytes, 1024u);
  EXPECT_EQ(statistics.peak_in_use_bytes, 3072u);
  EXPECT_EQ(statistics.peak_by_kind[static_cast<size_t>(MemoryKind::workspace)], 2048u);
  EXPECT_EQ(statistics.peak_by_kind[static_cast<size_t>(MemoryKind::weights)], 1024u);
  allocator.reset_peak();
  EXPECT_EQ(allocator.statistics().peak_in_use_bytes, 1024u);
}

TEST(CachingAllocator, RealAndVirtualArenasGrowAlike) {
  CachingAllocator real(make_system_memory_source(size_t{256} << 20)), planned(make_virtual_memory_source());
  RandomStream random(1, stream_id("allocator test"));
  std::vector<BufferHandle> real_buffers(16), planned_buffers(16);
  for (int i = 0; i < 2000; ++i) {
    const size_t slot = random.next_below(16), size = 1 + random.next_below(100000);
    real_buffers[slot].reset();
    planned_buffers[slot].reset();
    real_buffers[slot] = real.allocate(size, MemoryKind::activations);
    planned_buffers[slot] = planned.allocate(size, MemoryKind::activations);
    ASSERT_EQ(real.statistics().arena_bytes, planned.statistics().arena_bytes);
    ASSERT_EQ(real.statistics().peak_in_use_bytes, planned.statistics().peak_in_use_bytes);
  }
  // Best fit over merged blocks keeps the gaps small.
  EXPECT_LT(real.statistics().arena_bytes, real.statistics().peak_in_use_bytes * 3 / 2);
}

TEST(CachingAllocator, TooMuchIsAnErrorWithTheNumbers) {
  CachingAllocator allocator(make_system_memory_source(size_t{4} << 20));
  const auto half = allocator.allocate(size_t{3} << 20, MemoryKind::other);
  try {
    allocator.allocate(size_t{2} << 20, MemoryKind::other);
    FAIL() << "expected an Error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::out_of_memory);
    EXPECT_NE(std::string(error.what()).find("2097152"), std::string::npos) << error.what();
  }
  EXPECT_THROW(allocator.allocate(SIZE_MAX - 4, MemoryKind::other), Error);
  EXPECT_EQ(allocator.statistics().in_use_bytes, size_t{3} << 20);
}

TEST(CachingAllocator, BuffersOutliveTheAllocator) {
  BufferHandle buffer;
  {
    CachingAllocator allocator(make_system_memory_source(size_t{4} << 20));
    buffer = allocator.allocate(4096, MemoryKind::other);
  }
  std::memset(buffer->data, 1, 4096);
}

TEST(CachingAllocator, PoisonedBuffersHoldNaN) {
  CachingAllocator allocator(make_system_memory_source(size_t{4} << 20));
  allocator.poison_new_buffers(true);
  const auto buffer = allocator.allocate(sizeof(float), MemoryKind::other);
  float value = 0;
  std::memcpy(&value, buffer->data, sizeof(value));
  EXPECT_NE(value, value);
}

TEST(CachingAllocator, BuffersMayDieOnAnotherThread) {
  CachingAllocator allocator(make_system_memory_source(size_t{64} << 20));
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 500; ++i) {
        const auto buffer = allocator.allocate(1000, MemoryKind::other);
        buffer->data[0] = std::byte{1};
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(allocator.statistics().in_use_bytes, 0u);
}

}  // namespace
}  // namespace owlet
