// Context: what every operation function gets: the backend to run on and, in training, the tape to record on.
//
//   Context ctx(backend, &tape);
//   Tensor y = rms_norm(ctx, x, weight, 1e-5f);
//   tape.seed(y, dy);
//   tape.backward(ctx);
#pragma once

#include <functional>
#include <initializer_list>

#include "ops/backend.hpp"
#include "ops/cost.hpp"
#include "tensor/tensor.hpp"

namespace owlet {

class SavedTensor;
class Tape;

/// Cheap to copy; used by one thread at a time. Backend and tape must outlive it.
class Context {
 public:
  explicit Context(Backend& backend, Tape* tape = nullptr) : backend_(&backend), tape_(tape) {}

  Backend& backend() const { return *backend_; }
  Tape* tape() const { return tape_; }
  bool is_recording() const { return tape_ != nullptr; }

  /// An uninitialised tensor from the backend's allocator.
  Tensor empty(const Shape& shape, DType dtype, MemoryKind kind = MemoryKind::activations) const;
  Tensor empty_like(const Tensor& tensor) const;
  /// A tensor with these elements; T is the element type.
  template <typename T>
  Tensor from_values(const Shape& shape, std::span<const T> values, MemoryKind kind = MemoryKind::activations) const {
    return from_bytes(shape, dtype_of<T>, values.data(), values.size_bytes(), kind);
  }

  /// Checks an operation and runs it on the backend.
  void run(const AnyOp& op) const;

  /// Records how gradients pass back through the operation just run, if a tape is there and one of `inputs` needs a
  /// gradient (no inputs: always). The closure runs in backward only if a gradient arrived at one of `outputs`.
  void on_backward(std::initializer_list<Tensor> inputs, std::initializer_list<Tensor> outputs,
                   std::function<void(Context&)> closure) const;

  /// Tells the tape that `value`, an output of the on_backward just before, need not be kept for backward closures:
  /// `fill` computes the same bits into a tensor of its shape and type, from what its own backward keeps anyway. For
  /// operations that cost little beside the memory.
  void can_recompute(const Tensor& value, std::function<void(Context&, const Tensor& target)> fill) const;
  /// What a closure captures instead of an input that it will read.
  SavedTensor save(const Tensor& value) const;

  // For backward closures.

  /// The gradient that arrived at `output`; undefined if none did.
  Tensor grad(const Tensor& output) const;
  /// Where to leave the gradient of `input`; an unwanted slot if it needs none.
  GradientSlot slot(const Tensor& input) const;
  /// Hands a whole gradient on to `input` without computing anything (adds if one is already there).
  void pass_gradient(const Tensor& input, const Tensor& gradient) const;

 private:
  Tensor from_bytes(const Shape& shape, DType dtype, const void* values, size_t size_bytes, MemoryKind kind) const;

  Backend* backend_;
  Tape* tape_;
};

}  // namespace owlet
