#include "ops/tape.hpp"

#include <utility>

#include "base/error.hpp"
#include "ops/any_op.hpp"

namespace owlet {

Tensor SavedTensor::get(Context& ctx) const {
  if (recomputation_ == nullptr) return tensor_;
  Tensor& value = recomputation_->value;
  if (!value.defined()) {
    value = ctx.empty_like(tensor_);
    recomputation_->fill(ctx, value);
  }
  return value.reshape(tensor_.shape());
}

Tape::Tape() : store_(std::make_shared<Store>()) {}

void Tape::watch(const Tensor& value, Tensor* gradient, bool* is_written, DType gradient_type,
                 std::function<void()> on_complete) {
  check(!gradient->defined() || value.shape() == gradient->shape(), ErrorKind::internal,
        "gradient {} for a parameter {}", describe(*gradient), describe(value));
  store_->leaves[value.key()] = {gradient, is_written, gradient_type, std::move(on_complete)};
}

void Tape::watch_input(const Tensor& value) { store_->reachable[value.key()] = true; }

bool Tape::needs_gradient(const Tensor& value) const {
  return store_->leaves.contains(value.key()) || store_->reachable.contains(value.key());
}

void Tape::record(std::initializer_list<Tensor> inputs, std::initializer_list<Tensor> outputs, Closure closure) {
  for (const Tensor& output : outputs) store_->reachable.emplace(output.key(), false);
  Entry entry{{}, {}, std::move(closure)};
  for (const Tensor& input : inputs) {
    const auto leaf = store_->leaves.find(input.key());
    if (leaf == store_->leaves.end()) continue;
    leaf->second.num_pending += 1;
    entry.leaves.push_back(input.key());
  }
  for (const Tensor& output : outputs) entry.outputs.push_back(output.without_memory());
  entries_.push_back(std::move(entry));
}

void Tape::can_recompute(const Tensor& value, std::function<void(Context&, const Tensor& target)> fill) {
  store_->recomputations[value.key()] =
      std::make_shared<SavedTensor::Recomputation>(SavedTensor::Recomputation{std::move(fill), {}});
}

SavedTensor Tape::save(const Tensor& value) const {
  const auto found = store_->recomputations.find(value.key());
  if (found == store_->recomputations.end()) return SavedTensor(value);
  SavedTensor saved(value.without_memory());
  saved.recomputation_ = found->second;
  return saved;
}

void Tape::seed(const Tensor& output, const Tensor& gradient) {
  check(output.shape() == gradient.shape(), ErrorKind::internal, "gradient {} for a result {}", describe(gradient),
        describe(output));
  store_->gradients[output.key()] = gradient;
}

void Tape::complete_if_done(Leaf& leaf) {
  if (!leaf.on_complete || leaf.num_pending > 0 || leaf.is_complete || !*leaf.is_written) return;
  leaf.is_complete = true;
  leaf.on_complete();
}

void Tape::backward(Context& ctx) {
  check(ctx.tape() == this, ErrorKind::internal, "backward needs the context that carries this tape");
  // Written in the forward pass already: an output head that is no embedding too.
  for (auto& [key, leaf] : store_->leaves) complete_if_done(leaf);
  while (!entries_.empty()) {
    // The entry dies at the end of each round: activations that only it held are freed here.
    Entry entry = std::move(entries_.back());
    entries_.pop_back();
    bool gradient_arrived = false;
    for (const Tensor& output : entry.outputs) gradient_arrived |= store_->gradients.contains(output.key());
    if (gradient_arrived) run_closure(ctx, entry.closure);
    for (const Tensor& output : entry.outputs) {
      store_->recomputations.erase(output.key());
      const auto reachable = store_->reachable.find(output.key());
      if (reachable != store_->reachable.end() && reachable->second) continue;
      store_->gradients.erase(output.key());
      if (reachable != store_->reachable.end()) store_->reachable.erase(reachable);
    }
    for (const TensorKey& key : entry.leaves) {
      Leaf& leaf = store_->leaves.at(key);
      leaf.num_pending -= 1;
      complete_if_done(leaf);
    }
  }
}

void Tape::run_closure(Context& ctx, const Closure& closure) {
  is_running_closure_ = true;
  closure(ctx);
  is_running_closure_ = false;
  slots_of_closure_.clear();
  const std::vector<Extra> extras = std::exchange(extras_of_closure_, {});
  for (const Extra& extra : extras) pass_gradient(ctx, extra.value, extra.gradient);
}

void Tape::backward(Context& ctx, const Tensor& losses) {
  store_->gradients[losses.key()] = losses;
  backward(ctx);
}

Tensor Tape::gradient(const Tensor& value) const {
  if (const auto leaf = store_->leaves.find(value.key()); leaf != store_->leaves.end()) return *leaf->second.gradient;
  const auto found = store_->gradients.find(value.key());
  // Views of one memory share one gradient: whoever asks gets it in the shape it knows.
  return found == store_->gradients.end() ? Tensor() : found->second.reshape(value.shape());
}

GradientSlot Tape::slot(Context& ctx, const Tensor& value) {
  const auto leaf = store_->leaves.find(value.key());
  if (is_running_closure_ && needs_gradient(value) && !slots_of_closure_.insert(value.key()).second) {
    // One tensor in two places of an op, swiglu(x, x): two slots must not be the same memory.
    const Tensor extra =
        ctx.empty(value.shape(), leaf == store_->leaves.end() ? value.dtype() : leaf->second.gradient_type);
    extras_of_closure_.push_back({value, extra});
    return {extra, false};
  }
  if (leaf != store_->leaves.end()) {
    check(!leaf->second.is_complete, ErrorKind::internal, "a gradient for {} arrives after it was taken for complete",
          describe(value));
    const bool was_written = *leaf->second.is_written;
    *leaf->second.is_written = true;
    Tensor& gradient = *leaf->second.gradient;
    if (!gradient.defined()) {
      gradient = ctx.empty(value.shape(), leaf->second.gradient_type, MemoryKind::gradients);
    }
    return {gradient, was_written};
  }
  if (!store_->reachable.contains(value.key())) return {};
  const auto found = store_->gradients.find(value.key());
  if (found == store_->gradients.end()) {
    Tensor fresh = ctx.empty_like(value);
    store_->gradients[value.key()] = fresh;
    return {fresh, false};
  }
  // A gradient that was passed on may still be the gradient of another tensor: adding to it needs a copy of its own.
  Tensor& gradient = found->second;
  if (!gradient.is_only_handle()) {
    Tensor copy = ctx.empty_like(gradient);
    ctx.run(op::Cast{gradient, copy});
    gradient = copy;
  }
  return {gradient.reshape(value.shape()), true};
}

void Tape::pass_gradient(Context& ctx, const Tensor& value, const Tensor& gradient) {
  if (!needs_gradient(value)) return;
  const bool is_leaf = store_->leaves.contains(value.key());
  if (!is_leaf && !store_->gradients.contains(value.key())) {
    store_->gradients[value.key()] = gradient.reshape(value.shape());
    return;
  }
  const GradientSlot target = slot(ctx, value);
  if (target.accumulate) {
    ctx.run(op::Add{target.tensor, gradient.reshape(value.shape()), target.tensor});
  } else {
    ctx.run(op::Cast{gradient.reshape(value.shape()), target.tensor});
  }
}

Tape Tape::make_inner() const {
  Tape inner;
  inner.store_ = store_;
  return inner;
}

Tensor checkpoint(Context& ctx, const Tensor& x, const std::function<Tensor(Context&, const Tensor&)>& block) {
  Context silent(ctx.backend());
  Tensor y = block(silent, x);
  ctx.on_backward({}, {y}, [x, y = y.without_memory(), block](Context& c) {
    Tape inner = c.tape()->make_inner();
    Context again(c.backend(), &inner);
    const Tensor repeated = block(again, x);
    inner.seed(repeated, c.grad(y));
    inner.backward(again);
  });
  return y;
}

}  // namespace owlet
