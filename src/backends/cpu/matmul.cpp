// Matrix products: from MatrixProduct to oneDNN primitives, kept per shape; f32 copies where bf16 has no instructions.
#include "backends/cpu/matmul.hpp"

#include <algorithm>
#include <cstring>
#include <oneapi/dnnl/dnnl.hpp>
#include <unordered_map>
#include <utility>

#include "backends/cpu/cast.hpp"
#include "backends/cpu/instruction_set.hpp"
#include "backends/cpu/matmul_state.hpp"
#include "backends/cpu/transposed_product.hpp"
#include "base/error.hpp"
#include "base/parallel_for.hpp"

namespace owlet::cpu {

namespace {

using dnnl::memory;

/// Products kept at most. Generation meets a new number of rows with every prompt length.
constexpr size_t kMaxCompiledProducts = 4096;

/// MatrixProduct::packed_for_m of a product that leaves the layout of B to oneDNN.
constexpr int64_t kAnyLayout = -1;

size_t round_up(size_t bytes) { return (bytes + 63) / 64 * 64; }

size_t bytes_of(int64_t rows, int64_t columns, DType dtype) {
  return static_cast<size_t>(rows) * static_cast<size_t>(columns) * size_of(dtype);
}

memory::data_type dnnl_type(DType dtype) {
  return dtype == DType::bf16 ? memory::data_type::bf16 : memory::data_type::f32;
}

memory::desc matrix(int64_t rows, int64_t columns, DType dtype, bool is_transposed, int64_t row_stride = 0) {
  if (row_stride == 0) row_stride = is_transposed ? rows : columns;
  const memory::dims strides = is_transposed ? memory::dims{1, row_stride} : memory::dims{row_stride, 1};
  return memory::desc({rows, columns}, dnnl_type(dtype), strides);
}

dnnl::matmul::primitive_desc describe(const MatrixProduct& product, const dnnl::engine& engine);

/// The layout oneDNN likes best for B of a product with packed_for_m rows.
memory::desc packed_description(const MatrixProduct& product, const dnnl::engine& engine) {
  MatrixProduct main = product;
  if (product.packed_for_m != 0) main.m = product.packed_for_m;
  main.packed_for_m = kAnyLayout;
  main.accumulate = main.has_bias = false;
  const auto description = describe(main, engine);
  check(static_cast<bool>(description), ErrorKind::internal, "oneDNN has no product with a packed B of ({}, {})",
        product.k, product.n);
  return description.weights_desc();
}

/// oneDNN's description of the product; empty where it has none for these types under this instruction set.
dnnl::matmul::primitive_desc describe(const MatrixProduct& product, const dnnl::engine& engine) {
  const memory::desc a =
      matrix(product.m, product.k, product.input_type, product.a_is_transposed, product.a_row_stride);
  memory::desc b = matrix(product.k, product.n, product.input_type, product.b_is_transposed);
  if (product.b_is_packed) {
    b = product.packed_for_m == kAnyLayout
            ? memory::desc({product.k, product.n}, dnnl_type(product.input_type), memory::format_tag::any)
            : packed_description(product, engine);
  }
  const memory::desc c = matrix(product.m, product.n, product.output_type, false);
  const memory::desc bias = product.has_bias ? matrix(1, product.n, DType::f32, false) : memory::desc();
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  if (product.accumulate) {
    dnnl::post_ops post_ops;
    post_ops.append_sum(1.0f);
    attributes.set_post_ops(post_ops);
  }
  constexpr bool kAllowEmpty = true;
#if DNNL_VERSION_MAJOR >= 3
  return product.has_bias ? dnnl::matmul::primitive_desc(engine, a, b, bias, c, attributes, kAllowEmpty)
                          : dnnl::matmul::primitive_desc(engine, a, b, c, attributes, kAllowEmpty);
#else
  const auto operation = product.has_bias ? dnnl::matmul::desc(a, b, bias, c) : dnnl::matmul::desc(a, b, c);
  return dnnl::matmul::primitive_desc(operation, attributes, engine, kAllowEmpty);
#endif
}

/// Whether oneDNN has real code for the product, not its slow reference.
bool is_compiled(const dnnl::matmul::primitive_desc& description) {
  return description && std::strncmp(description.impl_info_str(), "ref", 3) != 0;
}

/// Everything but the primitive itself.
CompiledProduct plan(const MatrixProduct& product, const dnnl::engine& engine) {
  CompiledProduct compiled;
  compiled.description = describe(product, engine);
  if (product.input_type == DType::bf16 && !is_compiled(compiled.description)) {
    MatrixProduct wide = product;
    wide.input_type = wide.output_type = DType::f32;
    wide.a_row_stride = 0;
    compiled.description = describe(wide, engine);
    compiled.widens_inputs = true;
    compiled.narrows_output = product.output_type == DType::bf16;
  }
  check(static_cast<bool>(compiled.description), ErrorKind::internal, "oneDNN has no product ({}, {}) x ({}, {}) of {}",
        product.m, product.k, product.k, product.n, to_string(product.input_type));
  compiled.a_offset = round_up(compiled.description.scratchpad_desc().get_size());
  const bool widens = compiled.widens_inputs;
  compiled.b_offset = compiled.a_offset + (widens ? round_up(bytes_of(product.m, product.k, DType::f32)) : 0);
  compiled.c_offset = compiled.b_offset + (widens ? round_up(bytes_of(product.k, product.n, DType::f32)) : 0);
  compiled.workspace_bytes =
      compiled.c_offset + (compiled.narrows_output ? round_up(bytes_of(product.m, product.n, DType::f32)) : 0);
  return compiled;
}

const CompiledProduct& compile(const MatrixProduct& product, KernelContext::MatmulState& state) {
  const std::pair<MatrixProduct, int> key{product, num_threads()};
  if (const auto found = state.products.find(key); found != state.products.end()) return found->second;
  if (state.products.size() >= kMaxCompiledProducts) state.products.clear();
  CompiledProduct compiled = plan(product, state.engine);
  compiled.primitive = dnnl::matmul(compiled.description);
  return state.products.emplace(key, std::move(compiled)).first->second;
}

const memory::desc& packed_layout(const MatrixProduct& product, KernelContext::MatmulState& state) {
  const std::pair<MatrixProduct, int> key{product, num_threads()};
  if (const auto found = state.packed_layouts.find(key); found != state.packed_layouts.end()) return found->second;
  if (state.packed_layouts.size() >= kMaxCompiledProducts) state.packed_layouts.clear();
  return state.packed_layouts.emplace(key, packed_description(product, state.engine)).first->second;
}

bool is_empty(const MatrixProduct& product) { return product.m == 0 || product.n == 0 || product.k == 0; }

/// A sum over nothing: C = bias or 0.
void fill_empty(const MatrixProduct& product, const MatrixProductData& data) {
  for (int64_t i = 0; i < product.m * product.n; ++i) {
    const float bias = product.has_bias ? data.bias[i % product.n] : 0.0f;
    if (product.output_type == DType::bf16) {
      auto* c = static_cast<bf16*>(data.c);
      c[i] = bf16((product.accumulate ? static_cast<float>(c[i]) : 0.0f) + bias);
    } else {
      auto* c = static_cast<float*>(data.c);
      c[i] = (product.accumulate ? c[i] : 0.0f) + bias;
    }
  }
}

/// Widens rows that may lie apart into rows that follow each other.
void widen_rows(const bf16* source, int64_t rows, int64_t columns, int64_t row_stride, float* target) {
  if (row_stride == 0 || row_stride == columns) return widen(source, target, rows * columns);
  for (int64_t row = 0; row < rows; ++row) widen(source + row * row_stride, target + row * columns, columns);
}

/// oneDNN's memory objects do not distinguish what is only read.
void* writable(const void* data) { return const_cast<void*>(data); }

void execute(const CompiledProduct& compiled, const MatrixProduct& product, const MatrixProductData& data,
             std::byte* workspace, KernelContext::MatmulState& state) {
  const auto& description = compiled.description;
  std::unordered_map<int, memory> arguments = {
      {DNNL_ARG_SRC, memory(description.src_desc(), state.engine, writable(data.a))},
      {DNNL_ARG_WEIGHTS, memory(description.weights_desc(), state.engine, writable(data.b))},
      {DNNL_ARG_DST, memory(description.dst_desc(), state.engine, data.c)},
      {DNNL_ARG_SCRATCHPAD, memory(description.scratchpad_desc(), state.engine, workspace)}};
  if (product.has_bias) {
    arguments.emplace(DNNL_ARG_BIAS,
                      memory(matrix(1, product.n, DType::f32, false), state.engine, writable(data.bias)));
  }
  compiled.primitive.execute(state.stream, arguments);
  state.stream.wait();
}

}  // namespace

size_t workspace_bytes(const MatrixProduct& product) {
  if (is_empty(product)) return 0;
  if (multiplies_transposed(product)) return transposed_workspace_bytes(product);
  num_threads();  // oneDNN sizes its scratchpad by the calling thread's OpenMP setting
  try {
    return plan(product, dnnl::engine(dnnl::engine::kind::cpu, 0)).workspace_bytes;
  } catch (const dnnl::error& error) {
    fail(ErrorKind::internal, "oneDNN: {}", error.what());
  }
}

size_t workspace_bytes(const MatrixProduct& product, KernelContext& kernel) {
  if (is_empty(product)) return 0;
  if (multiplies_transposed(product)) return transposed_workspace_bytes(product);
  try {
    return compile(product, kernel.matmul()).workspace_bytes;
  } catch (const dnnl::error& error) {
    fail(ErrorKind::internal, "oneDNN: {}", error.what());
  }
}

bool can_pack_b(const MatrixProduct& product) {
  return !is_empty(product) && (product.input_type == DType::f32 || has_bf16_products());
}

size_t packed_bytes(const MatrixProduct& product) {
  num_threads();
  try {
    return round_up(packed_description(product, dnnl::engine(dnnl::engine::kind::cpu, 0)).get_size());
  } catch (const dnnl::error& error) {
    fail(ErrorKind::internal, "oneDNN: {}", error.what());
  }
}

size_t packed_bytes(const MatrixProduct& product, KernelContext& kernel) {
  try {
    return round_up(packed_layout(product, kernel.matmul()).get_size());
  } catch (const dnnl::error& error) {
    fail(ErrorKind::internal, "oneDNN: {}", error.what());
  }
}

void pack_b(const MatrixProduct& product, const void* b, std::byte* packed, KernelContext& kernel) {
  try {
    KernelContext::MatmulState& state = kernel.matmul();
    const memory plain(matrix(product.k, product.n, product.input_type, product.b_is_transposed), state.engine,
                       writable(b));
    memory target(packed_layout(product, state), state.engine, packed);
    dnnl::reorder(plain, target).execute(state.stream, const_cast<memory&>(plain), target);
    state.stream.wait();
  } catch (const dnnl::error& error) {
    fail(ErrorKind::internal, "oneDNN: {}", error.what());
  }
}

void multiply(const MatrixProduct& product, const MatrixProductData& data, std::byte* workspace,
              KernelContext& kernel) {
  if (is_empty(product)) return fill_empty(product, data);
  if (multiplies_transposed(product)) return multiply_transposed(product, data, workspace);
  try {
    KernelContext::MatmulState& state = kernel.matmul();
    const CompiledProduct& compiled = compile(product, state);
    MatrixProductData used = data;
    if (compiled.widens_inputs) {
      auto* a = reinterpret_cast<float*>(workspace + compiled.a_offset);
      auto* b = reinterpret_cast<float*>(workspace + compiled.b_offset);
      const int64_t a_rows = product.a_is_transposed ? product.k : product.m;
      widen_rows(static_cast<const bf16*>(data.a), a_rows, product.m * product.k / a_rows, product.a_row_stride, a);
      widen(static_cast<const bf16*>(data.b), b, product.k * product.n);
      used.a = a;
      used.b = b;
    }
    if (compiled.narrows_output) {
      auto* c = reinterpret_cast<float*>(workspace + compiled.c_offset);
      if (product.accumulate) widen(static_cast<const bf16*>(data.c), c, product.m * product.n);
      used.c = c;
    }
    execute(compiled, product, used, workspace, state);
    if (compiled.narrows_output) {
      narrow(static_cast<const float*>(used.c), static_cast<bf16*>(data.c), product.m * product.n);
    }
  } catch (const dnnl::error& error) {
    fail(ErrorKind::internal, "oneDNN: {}", error.what());
  }
}

}  // namespace owlet::cpu
