// Loops over a fixed partition of work on the process's OpenMP threads (shared with oneDNN).
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <vector>

namespace owlet {

/// Calls body(begin, end) for consecutive ranges that cover [0, count), each `grain` long (the last may be shorter), on
/// up to num_threads() threads. The ranges depend on `count` and `grain` only, never on the number of threads, so a
/// body that writes only to its own range gives the same bits on any number of threads. Where bodies throw, the
/// exception of the lowest range is rethrown here after all ranges have ended. Nested calls run on the calling thread.
void parallel_for(int64_t count, int64_t grain, const std::function<void(int64_t begin, int64_t end)>& body);

/// parallel_for for loops that stream through memory: the same ranges, handed out as runs of consecutive ones, because
/// the processor's prefetching starts anew where a thread jumps.
void parallel_sweep(int64_t count, int64_t grain, const std::function<void(int64_t begin, int64_t end)>& body);

/// Threads that parallel_for and oneDNN use; default: OMP_NUM_THREADS, else one per physical core this process may run
/// on. OpenMP keeps its own number per calling thread; this call brings the calling thread's up to date, so call it on
/// a thread before that thread first calls oneDNN.
int num_threads();
/// Throws Error invalid_argument unless count >= 1. Holds for the whole process.
void set_num_threads(int count);

/// How many physical cores the logical processors `cpus` belong to, by the sibling lists under `sysfs_cpu_folder`
/// (/sys/devices/system/cpu); a processor without a list counts as a core of its own. At least 1.
int count_physical_cores(std::span<const int> cpus, const std::filesystem::path& sysfs_cpu_folder);

}  // namespace owlet
