#include "nn/parameter_set.hpp"

#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "base/random.hpp"
#include "nn/host_convert.hpp"
#include "ops/any_op.hpp"

namespace owlet {

namespace {

void fill(Context& ctx, const Tensor& target, const Parameter& parameter, uint64_t seed) {
  switch (parameter.initialization.kind) {
    case Initialization::Kind::zeros:
      return ctx.run(op::Fill{target, 0.0f});
    case Initialization::Kind::ones:
      return ctx.run(op::Fill{target, 1.0f});
    case Initialization::Kind::normal:
      return ctx.run(op::FillNormal{target, 0.0f, parameter.initialization.deviation, seed, stream_id(parameter.name)});
  }
}

void refresh(Context& ctx, const Parameter& parameter) {
  if (!parameter.has_compute_copy()) return;
  ctx.run(op::Cast{parameter.value, parameter.compute});
}

}  // namespace

Parameter& ParameterSet::add(Context& ctx, std::string name, const Shape& shape, Initialization initialization) {
  check(find(name) == nullptr, ErrorKind::internal, "parameter '{}' is there already", name);
  Parameter& parameter = parameters_.emplace_back();
  parameter.name = std::move(name);
  parameter.shape = shape;
  parameter.initialization = initialization;
  parameter.decays = shape.rank() >= 2;
  const DType master = gradient_type();
  const bool has_compute_copy = shape.rank() >= 2 && storage_.compute_type != master;
  if (!has_compute_copy || storage_.keeps_master) parameter.value = ctx.empty(shape, master, MemoryKind::weights);
  parameter.compute = has_compute_copy ? ctx.empty(shape, storage_.compute_type, MemoryKind::weights) : parameter.value;
  return parameter;
}

Parameter* ParameterSet::find(std::string_view name) {
  const auto found = std::ranges::find(parameters_, name, &Parameter::name);
  return found == parameters_.end() ? nullptr : &*found;
}

const Parameter* ParameterSet::find(std::string_view name) const { return const_cast<ParameterSet*>(this)->find(name); }

int64_t ParameterSet::num_elements() const {
  int64_t count = 0;
  for (const Parameter& parameter : parameters_) count += parameter.shape.num_elements();
  return count;
}

void ParameterSet::initialize(Context& ctx, uint64_t seed) {
  for (const Parameter& parameter : parameters_) {
    fill(ctx, parameter.stored(), parameter, seed);
    refresh(ctx, parameter);
  }
}

void ParameterSet::load(Context& ctx, Parameter& parameter, const Tensor& host_values) {
  check(host_values.shape() == parameter.shape, ErrorKind::invalid_argument, "{}: values of shape {} for shape {}",
        parameter.name, to_string(host_values.shape()), to_string(parameter.shape));
  const Tensor& target = parameter.stored();
  const Tensor rounded = convert_on_host(host_values, target.dtype());
  ctx.backend().write(target, rounded.bytes());
  refresh(ctx, parameter);
}

void ParameterSet::refresh_compute_copies(Context& ctx) {
  for (const Parameter& parameter : parameters_) refresh(ctx, parameter);
}

void ParameterSet::release_gradients() {
  for (Parameter& parameter : parameters_) {
    parameter.gradient = Tensor();
    parameter.gradient_is_written = false;
  }
}

void ParameterSet::zero_unwritten_gradients(Context& ctx) {
  for (Parameter& parameter : parameters_) {
    if (!parameter.is_trainable || parameter.gradient_is_written) continue;
    parameter.gradient = ctx.empty(parameter.shape, gradient_type(), MemoryKind::gradients);
    ctx.run(op::Fill{parameter.gradient, 0.0f});
    parameter.gradient_is_written = true;
  }
}

DType ParameterSet::gradient_type() const { return storage_.compute_type == DType::f64 ? DType::f64 : DType::f32; }

void ParameterSet::watch_on(Tape& tape, const std::function<void(Parameter&)>& on_gradient) {
  for (Parameter& parameter : parameters_) {
    if (!parameter.is_trainable) continue;
    std::function<void()> on_complete;
    if (on_gradient) on_complete = [&parameter, on_gradient] { on_gradient(parameter); };
    tape.watch(parameter.compute, &parameter.gradient, &parameter.gradient_is_written, gradient_type(),
               std::move(on_complete));
  }
}

}  // namespace owlet
