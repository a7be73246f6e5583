#include "nn/parameter_set.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/random.hpp"
#include "nn/host_convert.hpp"
#include "ops/any_op.hpp"
#include "tensor/formats/split_weight.hpp"

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

/// `values` in f32, in ordinary memory.
void write_split(Context& ctx, const Parameter& parameter, const Tensor& values) {
  const Tensor upper = make_host_tensor(parameter.shape, DType::bf16);
  const Tensor lower = make_host_tensor(parameter.shape, DType::u16);
  for (int64_t i = 0; i < values.num_elements(); ++i) {
    const formats::SplitWeight halves = formats::split_weight(values.data<float>()[i]);
    upper.data<bf16>()[i] = halves.upper;
    lower.data<uint16_t>()[i] = halves.lower;
  }
  ctx.backend().write(parameter.value, upper.bytes());
  ctx.backend().write(parameter.lower_bits, lower.bytes());
}

}  // namespace

Parameter& ParameterSet::add(Context& ctx, std::string name, const Shape& shape, Initialization initialization) {
  check(find(name) == nullptr, ErrorKind::internal, "parameter '{}' is there already", name);
  Parameter& parameter = parameters_.emplace_back();
  parameter.name = std::move(name);
  parameter.shape = shape;
  parameter.initialization = initialization;
  parameter.decays = shape.rank() >= 2;
  const bool is_narrow = shape.rank() >= 2 && storage_.compute_type != gradient_type();
  parameter.value = ctx.empty(shape, is_narrow ? storage_.compute_type : gradient_type(), MemoryKind::weights);
  if (is_narrow && storage_.keeps_master) parameter.lower_bits = ctx.empty(shape, DType::u16, MemoryKind::weights);
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
    if (!parameter.lower_bits.defined()) {
      fill(ctx, parameter.value, parameter, seed);
      continue;
    }
    const Tensor whole = ctx.empty(parameter.shape, DType::f32);
    fill(ctx, whole, parameter, seed);
    ctx.run(op::SplitWeight{whole, parameter.value, parameter.lower_bits});
  }
}

void ParameterSet::load(Context& ctx, Parameter& parameter, const Tensor& host_values) {
  check(host_values.shape() == parameter.shape, ErrorKind::invalid_argument, "{}: values of shape {} for shape {}",
        parameter.name, to_string(host_values.shape()), to_string(parameter.shape));
  if (parameter.lower_bits.defined()) return write_split(ctx, parameter, convert_on_host(host_values, DType::f32));
  const Tensor rounded = convert_on_host(host_values, parameter.value.dtype());
  ctx.backend().write(parameter.value, rounded.bytes());
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
    tape.watch(parameter.value, &parameter.gradient, &parameter.gradient_is_written, gradient_type(),
               std::move(on_complete));
  }
}

Tensor read_on_host(Context& ctx, const Parameter& parameter) {
  const Tensor& value = parameter.value;
  if (!parameter.lower_bits.defined()) {
    Tensor values = make_host_tensor(value.shape(), value.dtype());
    ctx.backend().read(value, values.bytes());
    return values;
  }
  Tensor values = make_host_tensor(value.shape(), DType::f32);
  // Row by row, so that the halves of a large matrix take no memory beside the whole.
  const int64_t num_rows = value.dim(0), row_size = num_rows == 0 ? 0 : value.num_elements() / num_rows;
  std::vector<bf16> upper(static_cast<size_t>(row_size));
  std::vector<uint16_t> lower(static_cast<size_t>(row_size));
  float* target = values.data<float>();
  for (int64_t row = 0; row < num_rows; ++row) {
    ctx.backend().read(value.slice(row, row + 1), upper.data());
    ctx.backend().read(parameter.lower_bits.slice(row, row + 1), lower.data());
    for (size_t i = 0; i < upper.size(); ++i) *target++ = formats::join_weight(upper[i], lower[i]);
  }
  return values;
}

}  // namespace owlet
