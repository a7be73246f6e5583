// The instruction sets that the CPU backend can be held to. One choice steers both Highway's dispatch (own kernels) and
// oneDNN's code generator (matrix products).
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace owlet::cpu {

/// Names of the sets that this processor has and the kernels are compiled for, best first: on x86-64 avx512_bf16,
/// avx512, avx2, sse4, baseline (own kernels without explicit vectors).
std::vector<std::string> instruction_sets();

/// Holds the process to one of instruction_sets(); an empty name keeps an earlier choice, or the best. Throws Error
/// invalid_argument for an unknown name, unsupported when another set was chosen before. Thread-safe; call it before
/// any kernel runs.
void choose_instruction_set(std::string_view name);

/// Whether products of bf16 numbers have instructions of their own under the chosen set: vdpbf16ps on x86-64.
bool has_bf16_products();

}  // namespace owlet::cpu
