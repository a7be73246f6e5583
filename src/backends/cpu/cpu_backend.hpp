// The CPU backend: oneDNN for matrix products, own kernels (Google Highway, run-time dispatch) for the rest.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ops/any_op.hpp"
#include "ops/backend.hpp"

namespace owlet {

struct CpuOptions {
  /// Threads to use; 0 = one per physical core.
  int num_threads = 0;
  /// Instruction set to force, one of cpu_instruction_sets(); empty = the best this machine has. Holds for the whole
  /// process: the first backend decides, a later one that asks for another gets an Error unsupported.
  std::string instruction_set;
  /// Largest arena in bytes; 0 = the machine's memory.
  size_t memory_limit_bytes = 0;
};

/// Names of the instruction sets that this machine has and the kernels are compiled for, best first.
std::vector<std::string> cpu_instruction_sets();

/// Thread rule: one thread at a time; work spreads over OpenMP threads inside.
std::unique_ptr<Backend> make_cpu_backend(const CpuOptions& options = {});

/// Bytes of scratch memory the CPU backend takes from its allocator while it runs this op: the planner asks.
size_t cpu_workspace_bytes(const AnyOp& op);

}  // namespace owlet
