// oneDNN's engine, stream and compiled products of one CPU backend. Only matmul.cpp and kernel_context.cpp see this.
#pragma once

#include <map>
#include <oneapi/dnnl/dnnl.hpp>

#include "backends/cpu/matmul.hpp"

namespace owlet::cpu {

/// A product as it will run: oneDNN's primitive, on the operands themselves or on f32 copies of them.
struct CompiledProduct {
  dnnl::matmul::primitive_desc description;
  dnnl::matmul primitive;
  /// bf16 operands (and a bf16 result) go through f32 copies in the workspace.
  bool widens_inputs = false, narrows_output = false;
  /// What multiply() needs, and where its parts begin; the scratchpad is at 0.
  size_t a_offset = 0, b_offset = 0, c_offset = 0, workspace_bytes = 0;
};

struct KernelContext::MatmulState {
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
  /// By product and number of threads.
  std::map<std::pair<MatrixProduct, int>, CompiledProduct> products;
  /// Layouts of packed operands, likewise.
  std::map<std::pair<MatrixProduct, int>, dnnl::memory::desc> packed_layouts;
};

}  // namespace owlet::cpu
