#include "ops/context.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "ops/any_op.hpp"
#include "ops/tape.hpp"

namespace owlet {

Tensor Context::empty(const Shape& shape, DType dtype, MemoryKind kind) const {
  const size_t size = static_cast<size_t>(shape.num_elements()) * size_of(dtype);
  return Tensor(backend_->allocator().allocate(size, kind), 0, shape, dtype);
}

Tensor Context::empty_like(const Tensor& tensor) const { return empty(tensor.shape(), tensor.dtype()); }

Tensor Context::from_bytes(const Shape& shape, DType dtype, const void* values, size_t size_bytes,
                           MemoryKind kind) const {
  Tensor tensor = empty(shape, dtype, kind);
  check(size_bytes == tensor.size_bytes(), ErrorKind::invalid_argument, "{} bytes of values for a tensor {}",
        size_bytes, describe(tensor));
  backend_->write(tensor, values);
  return tensor;
}

void Context::run(const AnyOp& op) const {
  op.check();
  backend_->run(op);
}

void Context::on_backward(std::initializer_list<Tensor> inputs, std::initializer_list<Tensor> outputs,
                          std::function<void(Context&)> closure) const {
  if (tape_ == nullptr) return;
  const bool is_needed = inputs.size() == 0 || std::ranges::any_of(inputs, [&](const Tensor& input) {
                           return input.defined() && tape_->needs_gradient(input);
                         });
  if (is_needed) tape_->record(inputs, outputs, std::move(closure));
}

void Context::can_recompute(const Tensor& value, std::function<void(Context&, const Tensor& target)> fill) const {
  if (tape_ != nullptr && tape_->needs_gradient(value)) tape_->can_recompute(value, std::move(fill));
}

SavedTensor Context::save(const Tensor& value) const { return tape_ == nullptr ? SavedTensor() : tape_->save(value); }

Tensor Context::grad(const Tensor& output) const { return tape_->gradient(output); }

GradientSlot Context::slot(const Tensor& input) const {
  if (tape_ == nullptr || !input.defined()) return {};
  Context self = *this;
  return tape_->slot(self, input);
}

void Context::pass_gradient(const Tensor& input, const Tensor& gradient) const {
  Context self = *this;
  tape_->pass_gradient(self, input, gradient);
}

}  // namespace owlet
