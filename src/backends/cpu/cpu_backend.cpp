// The CPU backend's outer face: checks the element types, then hands each op to its kernel.
#include "backends/cpu/cpu_backend.hpp"

#include <cstring>

#include "backends/cpu/instruction_set.hpp"
#include "backends/cpu/kernel_context.hpp"
#include "backends/cpu/kernels.hpp"
#include "base/error.hpp"
#include "base/parallel_for.hpp"

namespace owlet {

namespace {

/// The tensor whose element type decides which kernel runs.
template <typename Op>
const Tensor& main_tensor(const Op& op) {
  if constexpr (requires { op.x; }) {
    return op.x;
  } else if constexpr (requires { op.dy; }) {
    return op.dy;
  } else if constexpr (requires { op.q; }) {
    return op.q;
  } else if constexpr (requires { op.gate; }) {
    return op.gate;
  } else if constexpr (requires { op.a; }) {
    return op.a;
  } else if constexpr (requires { op.rows; }) {
    return op.rows;
  } else if constexpr (requires { op.weight; }) {
    return op.weight;
  } else {
    return op.y;
  }
}

template <typename Op>
bool has_kernel(const Op& op) {
  return main_tensor(op).dtype() != DType::f64;
}
bool has_kernel(const op::Cast& op) { return op.x.dtype() != DType::f64 && op.y.dtype() != DType::f64; }

class CpuBackend final : public Backend {
 public:
  explicit CpuBackend(const CpuOptions& options)
      : allocator_(make_system_memory_source(options.memory_limit_bytes)), kernel_(allocator_) {}

  std::string_view name() const override { return "cpu"; }

  void run(const AnyOp& op) override {
    num_threads();  // brings this thread's OpenMP setting up to date, which oneDNN reads
    std::visit(
        [this](const auto& concrete) {
          check(has_kernel(concrete), ErrorKind::unsupported, "the cpu backend has no {} for {}", concrete.kName,
                describe(main_tensor(concrete)));
          cpu::run(concrete, kernel_);
        },
        op.variant);
  }

  bool supports(const AnyOp& op) const override {
    return std::visit([](const auto& concrete) { return has_kernel(concrete); }, op.variant);
  }

  CachingAllocator& allocator() override { return allocator_; }

  void write(const Tensor& tensor, const void* source) override {
    if (tensor.size_bytes() > 0) std::memcpy(tensor.bytes(), source, tensor.size_bytes());
  }
  void read(const Tensor& tensor, void* target) override {
    if (tensor.size_bytes() > 0) std::memcpy(target, tensor.bytes(), tensor.size_bytes());
  }

 private:
  CachingAllocator allocator_;
  cpu::KernelContext kernel_;
};

}  // namespace

std::vector<std::string> cpu_instruction_sets() { return cpu::instruction_sets(); }

std::unique_ptr<Backend> make_cpu_backend(const CpuOptions& options) {
  check(options.num_threads >= 0, ErrorKind::invalid_argument, "{} threads asked for the cpu backend",
        options.num_threads);
  cpu::choose_instruction_set(options.instruction_set);
  if (options.num_threads > 0) set_num_threads(options.num_threads);
  return std::make_unique<CpuBackend>(options);
}

size_t cpu_workspace_bytes(const AnyOp& op) {
  return std::visit([](const auto& concrete) { return cpu::workspace_bytes(concrete); }, op.variant);
}

}  // namespace owlet
