// Parameters: the ordered, named list that optimiser, checkpoint, export and (later) LoRA share. Nothing else about a
// model is visible to them.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <string_view>

#include "ops/context.hpp"
#include "ops/tape.hpp"
#include "tensor/tensor.hpp"

namespace owlet {

/// How a parameter starts.
struct Initialization {
  enum class Kind : uint8_t { zeros, ones, normal } kind = Kind::normal;
  /// Standard deviation of Kind::normal.
  float deviation = 0.02f;
};

/// One trainable tensor. Used through the references that ParameterSet::add returns; they stay valid.
struct Parameter {
  /// The model's own dotted name, which is the Hub's name for Llama-type models.
  std::string name;
  Shape shape;
  Initialization initialization;
  /// Weight decay applies to matrices only, never to gains and biases.
  bool decays = true;
  bool is_trainable = true;
  /// What operations read: f32, bf16 for matrices of a bf16 model (f64 on the reference backend).
  Tensor value;
  /// u16, beside a bf16 `value` only: the lower halves of f32 master weights whose upper halves are `value`
  /// (tensor/formats/split_weight.hpp). Undefined where there are no master weights, or `value` is them.
  Tensor lower_bits;
  /// f32 (f64 on the reference backend); undefined until a backward pass or zero_unwritten_gradients needs it.
  Tensor gradient;
  /// Whether `gradient` holds anything of the current step.
  bool gradient_is_written = false;
};

/// What the parameters of a model are stored as.
struct ParameterStorage {
  /// Type that matrices are computed in: f32, bf16 (f64 on the reference backend). 1-D parameters stay f32.
  DType compute_type = DType::f32;
  /// Keep f32 master weights beside bf16 ones. Generation needs none, nor does training with random rounding.
  bool keeps_master = true;
};

/// Ordered parameters with unique names.
class ParameterSet {
 public:
  explicit ParameterSet(ParameterStorage storage = {}) : storage_(storage) {}

  /// Adds a parameter and allocates its tensors (uninitialised). Throws Error internal for a name that exists.
  Parameter& add(Context& ctx, std::string name, const Shape& shape, Initialization initialization);

  std::deque<Parameter>& all() { return parameters_; }
  const std::deque<Parameter>& all() const { return parameters_; }
  /// Null where there is none.
  Parameter* find(std::string_view name);
  const Parameter* find(std::string_view name) const;
  const ParameterStorage& storage() const { return storage_; }
  int64_t num_elements() const;

  /// Fills every parameter as its Initialization says; the numbers depend on (seed, name) only, not on order or
  /// threads.
  void initialize(Context& ctx, uint64_t seed);
  /// Sets one parameter from values of any floating type, rounded as needed.
  /// Throws Error invalid_argument naming the parameter and both shapes.
  void load(Context& ctx, Parameter& parameter, const Tensor& host_values);

  /// Gives the gradients' memory back and marks them as empty. Each gets memory again when a backward pass first writes
  /// it, about when it frees the activations of the same layer: gradients and activations never all exist together.
  void release_gradients();
  /// Fills with zeros what no backward pass has written since release_gradients.
  void zero_unwritten_gradients(Context& ctx);
  /// Makes the trainable parameters leaves of the tape. `on_gradient`, if given, is called for each in the backward
  /// pass as soon as its gradient is complete (Tape::watch).
  void watch_on(Tape& tape, const std::function<void(Parameter&)>& on_gradient = {});
  /// Element type of gradients and of moments in full precision: f32 (f64 on the reference backend).
  DType gradient_type() const;

 private:
  ParameterStorage storage_;
  std::deque<Parameter> parameters_;
};

/// The best values there are of a parameter in ordinary memory: the master weights in f32, or `value` in its own type.
Tensor read_on_host(Context& ctx, const Parameter& parameter);

}  // namespace owlet
