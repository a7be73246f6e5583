#include "cli/program_backend.hpp"

#include "backends/cpu/cpu_backend.hpp"

namespace owlet {

std::unique_ptr<Backend> make_backend(const Program& program) {
  CpuOptions options;
  options.num_threads = program.num_threads;
  return make_cpu_backend(options);
}

}  // namespace owlet
