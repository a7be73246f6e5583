#include "machine/process_memory.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>
#include <string>
#include <vector>

#include "base/error.hpp"

namespace owlet {
namespace {

constexpr std::string_view kStatus =
    "Name:\towlet\nVmPeak:\t    9999 kB\nVmHWM:\t    1768 kB\nVmRSSx:\t 1 kB\nVmRSS:\t    1700 kB\nThreads:\t1\n";

TEST(ParseProcessStatus, ReadsSizesInBytes) {
  const ProcessMemory memory = parse_process_status(kStatus);
  EXPECT_EQ(memory.resident_bytes, 1700u * 1024);
  EXPECT_EQ(memory.peak_resident_bytes, 1768u * 1024);
}

TEST(ParseMemoryInfo, ReadsSizesInBytes) {
  const SystemMemory memory =
      parse_memory_info("MemTotal:       24684092 kB\nMemFree:  1 kB\nMemAvailable:   23978696 kB");
  EXPECT_EQ(memory.total_bytes, 24684092u * uint64_t{1024});
  EXPECT_EQ(memory.available_bytes, 23978696u * uint64_t{1024});
}

TEST(ParseMemoryInfo, NamesTheFieldThatIsWrong) {
  for (const char* text :
       {"", "MemTotal: 1 kB\n", "MemTotal: x kB\nMemAvailable: 1 kB\n", "MemTotal:\n",
        "MemTotal: 1 MB\nMemAvailable: 1 kB\n", "MemTotal: 18446744073709551615 kB\nMemAvailable: 1 kB\n"}) {
    try {
      parse_memory_info(text);
      ADD_FAILURE() << "no error for " << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::unsupported);
      EXPECT_NE(std::string(error.what()).find("Mem"), std::string::npos);
    }
  }
}

TEST(ReadProcessMemory, SeesTouchedPages) {
  constexpr size_t kBytes = 32 << 20;
  const ProcessMemory before = read_process_memory();
  const std::vector<char> touched(kBytes, 1);
  const ProcessMemory after = read_process_memory();
  EXPECT_EQ(touched.back(), 1);
  EXPECT_GT(after.resident_bytes, before.resident_bytes + kBytes / 2);
  EXPECT_GE(after.peak_resident_bytes, after.resident_bytes);
  EXPECT_GT(after.num_minor_faults, before.num_minor_faults);
}

TEST(ResetPeakResident, ForgetsAnEarlierPeak) {
  constexpr size_t kBytes = 64 << 20;
  // Mapped by hand: an allocator may keep what is freed.
  void* const address = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(address, MAP_FAILED);
  std::memset(address, 1, kBytes);
  munmap(address, kBytes);
  const uint64_t old_peak_bytes = read_process_memory().peak_resident_bytes;
  if (!reset_peak_resident()) GTEST_SKIP() << "the kernel does not reset the peak";
  EXPECT_LT(read_process_memory().peak_resident_bytes, old_peak_bytes - kBytes / 2);
}

TEST(ReadSystemMemory, IsPlausible) {
  const SystemMemory memory = read_system_memory();
  EXPECT_GT(memory.total_bytes, memory.available_bytes);
  EXPECT_GT(memory.available_bytes, 0u);
}

}  // namespace
}  // namespace owlet
