// Tape: the closures and gradients of one forward pass, and gradient checkpointing.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "ops/context.hpp"
#include "ops/cost.hpp"
#include "tensor/tensor.hpp"

namespace owlet {

/// A tensor that a backward closure will need: kept as it is, or, where Context::can_recompute was told how, only
/// computed again when the first closure asks for it and freed with the last closure that holds it.
/// Source: selective recomputation, Korthikanti et al., arXiv:2205.05198, section 5.
class SavedTensor {
 public:
  SavedTensor() = default;
  explicit SavedTensor(Tensor kept) : tensor_(std::move(kept)) {}

  /// The tensor with the values it had when it was saved.
  Tensor get(Context& ctx) const;

 private:
  friend class Tape;
  struct Recomputation {
    std::function<void(Context&, const Tensor& target)> fill;
    Tensor value;
  };

  /// With a recomputation: shape and type only.
  Tensor tensor_;
  std::shared_ptr<Recomputation> recomputation_;
};

/// Records backward closures while a model runs forward and runs them in reverse. Activations and gradients are freed
/// as soon as the closure that needs them last has run. One tape per micro-batch; used by one thread.
class Tape {
 public:
  using Closure = std::function<void(Context&)>;

  Tape();

  /// Makes `value` a leaf whose gradient goes to *gradient, which has value's shape or is undefined: then the first
  /// write allocates it with `gradient_type`. *is_written tells whether it holds anything yet: the first write of a
  /// step overwrites, later ones add, and both set it. Pointers must outlive the tape. `on_complete`, if given, is
  /// called in backward once the last closure that was recorded with `value` among its inputs has run, if the gradient
  /// was written: it may take the gradient away and change the value. A write after that is an Error internal (a value
  /// shared by two checkpointed blocks cannot be watched so).
  void watch(const Tensor& value, Tensor* gradient, bool* is_written, DType gradient_type,
             std::function<void()> on_complete = {});
  /// Makes `value` an ordinary tensor whose gradient is wanted: read it with gradient() after backward.
  void watch_input(const Tensor& value);

  bool needs_gradient(const Tensor& value) const;
  void record(std::initializer_list<Tensor> inputs, std::initializer_list<Tensor> outputs, Closure closure);

  /// See Context::can_recompute. Forgotten when the closure that was recorded for `value` has run.
  void can_recompute(const Tensor& value, std::function<void(Context&, const Tensor& target)> fill);
  SavedTensor save(const Tensor& value) const;

  /// Gives `output` the gradient to start from.
  void seed(const Tensor& output, const Tensor& gradient);
  /// Runs all closures in reverse and forgets them. `ctx` must carry this tape.
  void backward(Context& ctx);
  /// Starts at losses whose gradients are already prepared (linear_cross_entropy), then as above.
  void backward(Context& ctx, const Tensor& losses);

  Tensor gradient(const Tensor& value) const;
  GradientSlot slot(Context& ctx, const Tensor& value);
  void pass_gradient(Context& ctx, const Tensor& value, const Tensor& gradient);

  /// A tape for re-running a part of the forward pass: its own closures, the same leaves and gradients.
  Tape make_inner() const;

 private:
  struct Leaf {
    Tensor* gradient = nullptr;
    bool* is_written = nullptr;
    DType gradient_type = DType::f32;
    std::function<void()> on_complete;
    /// Recorded closures that may still write the gradient.
    int num_pending = 0;
    bool is_complete = false;
  };
  struct Store {
    std::map<TensorKey, Leaf> leaves;
    std::map<TensorKey, Tensor> gradients;
    /// Tensors on the way from a leaf to the loss, and inputs that are watched for their own sake.
    std::map<TensorKey, bool> reachable;  // value: keep the gradient after backward
    std::map<TensorKey, std::shared_ptr<SavedTensor::Recomputation>> recomputations;
  };
  struct Entry {
    std::vector<TensorKey> leaves;
    std::vector<Tensor> outputs;
    Closure closure;
  };
  /// A second gradient of one value from one closure, to be added when the closure has run.
  struct Extra {
    Tensor value, gradient;
  };

  void run_closure(Context& ctx, const Closure& closure);
  static void complete_if_done(Leaf& leaf);

  std::shared_ptr<Store> store_;
  std::vector<Entry> entries_;
  bool is_running_closure_ = false;
  std::set<TensorKey> slots_of_closure_;
  std::vector<Extra> extras_of_closure_;
};

/// Gradient checkpointing: runs `block` without recording and keeps only x; backward runs it again with recording.
/// Costs one more forward pass of the block, saves its activations. `block` must compute the same from the same input.
/// Source: Chen, Xu, Zhang, Guestrin, arXiv:1604.06174.
Tensor checkpoint(Context& ctx, const Tensor& x, const std::function<Tensor(Context&, const Tensor&)>& block);

}  // namespace owlet
