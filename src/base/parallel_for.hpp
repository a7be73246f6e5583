// Loops over a fixed partition of work on the process's OpenMP threads (shared with oneDNN).
#pragma once

#include <cstdint>
#include <functional>

namespace owlet {

/// Calls body(begin, end) for consecutive ranges that cover [0, count), each `grain` long (the last may be shorter), on
/// up to num_threads() threads. The ranges depend on `count` and `grain` only, never on the number of threads, so a
/// body that writes only to its own range gives the same bits on any number of threads. An exception thrown by a body
/// is rethrown here after all ranges have ended. Nested calls run on the calling thread.
void parallel_for(int64_t count, int64_t grain, const std::function<void(int64_t begin, int64_t end)>& body);

/// Threads that parallel_for and oneDNN use; default: one per physical core this process may run on.
int num_threads();
void set_num_threads(int count);

}  // namespace owlet
