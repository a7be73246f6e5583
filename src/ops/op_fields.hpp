// The tensors of every operation by name, role and element type: for whoever treats all operations alike (support
// tables, comparing backends, tests). Kernels and op functions use the structs themselves.
#pragma once

#include <string_view>
#include <vector>

#include "ops/any_op.hpp"

namespace owlet {

/// What an operation does with a tensor. `state` is read and rewritten (AdamW's weight), `gradient` is a GradientSlot.
enum class FieldRole : uint8_t { input, output, state, gradient };

/// Which element type a field has. `activation`: the type the operation runs in. `statistic`: f32, f64 beside f64.
/// `index`: i32. `stored`: f32 or bf16, as weights may be stored, f64 beside f64. `code`: i8 or u8, the tensor's own.
/// `bits`: u16 in every case, digits of a number whose others stand in another field. `total`: f64 in every case.
/// `any`: the operation's caller chooses.
enum class FieldType : uint8_t { activation, statistic, index, stored, code, bits, total, any };

/// One tensor of an operation; the pointers point into the AnyOp it was asked of.
struct OpField {
  std::string_view name;
  Tensor* tensor;
  FieldRole role;
  FieldType type;
  /// GradientSlot::accumulate or Rope::accumulate; null where a field never adds to what is there.
  bool* accumulate = nullptr;
};

/// All tensors of `op` in the order of declaration, the undefined ones included.
std::vector<OpField> op_fields(AnyOp& op);

}  // namespace owlet
