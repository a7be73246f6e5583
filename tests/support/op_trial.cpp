#include "tests/support/op_trial.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "backends/cpu/cpu_backend.hpp"

namespace owlet::test {

namespace {

constexpr size_t kGuardBytes = 64;
constexpr std::byte kGuard{0xff};

bool is_floating(DType dtype) { return dtype == DType::f64 || dtype == DType::f32 || dtype == DType::bf16; }

Tensor copy_as(const Tensor& source, DType dtype) {
  Tensor copy = make_host_tensor(source.shape(), dtype);
  for (int64_t i = 0; i < source.num_elements(); ++i) set_element(copy, i, element_as_double(source, i));
  return copy;
}

}  // namespace

std::string TrialSetup::describe() const {
  return fmt::format("{}, misalignment {}, {}{}", to_string(activation), misalignment,
                     accumulate ? "accumulating" : "overwriting",
                     only_slot.empty() ? "" : ", only " + only_slot + " wanted");
}

std::vector<TrialSetup> setups_of(const OpCase& one) {
  AnyOp op = make_op(one);
  std::vector<std::string> slots;
  bool can_accumulate = false;
  for (const OpField& field : op_fields(op)) {
    if (field.role == FieldRole::gradient) slots.emplace_back(field.name);
    can_accumulate |= field.accumulate != nullptr && one.in_place.empty();
  }
  std::vector<TrialSetup> setups;
  for (DType activation : {DType::f32, DType::bf16}) {
    for (int misalignment = 0; misalignment < 3; ++misalignment) {
      setups.push_back({activation, misalignment, false, {}});
      if (can_accumulate) setups.push_back({activation, misalignment, true, {}});
    }
    if (slots.size() < 2) continue;
    for (const std::string& slot : slots) setups.push_back({activation, 1, false, slot});
  }
  return setups;
}

DType type_under_test(const OpCase& one, const OpField& field, DType activation) {
  if (const auto found = one.types.find(field.name); found != one.types.end()) {
    return found->second;
  }
  switch (field.type) {
    case FieldType::statistic:
      return DType::f32;
    case FieldType::index:
      return DType::i32;
    case FieldType::bits:
      return DType::u16;
    case FieldType::total:
      return DType::f64;
    case FieldType::code:
      return field.tensor->dtype();
    case FieldType::activation:
    case FieldType::stored:
    case FieldType::any:
      break;
  }
  return activation;
}

AnyOp round_op(const OpCase& one, DType activation) {
  AnyOp op = make_op(one);
  RandomStream random(1, stream_id(one.name));
  for (const OpField& field : op_fields(op)) {
    const Tensor& tensor = *field.tensor;
    if (!tensor.defined() || tensor.dtype() != DType::f64) continue;
    const bool is_added_to = field.accumulate != nullptr;
    const Tensor element = make_host_tensor({1}, type_under_test(one, field, activation));
    for (double& value : tensor.span<double>()) {
      if (is_added_to) value = random.next_normal();
      set_element(element, 0, value);
      value = element_as_double(element, 0);
    }
  }
  return op;
}

std::string poison_inputs(const AnyOp& rounded, RandomStream& random) {
  AnyOp op = rounded;
  std::vector<OpField> inputs;
  for (const OpField& field : op_fields(op)) {
    const bool is_read = field.role == FieldRole::input || field.role == FieldRole::state;
    if (is_read && field.tensor->defined() && is_floating(field.tensor->dtype())) inputs.push_back(field);
  }
  if (inputs.empty()) return "nothing to poison";
  const OpField& input = inputs[random.next_below(inputs.size())];
  const std::span<double> values = input.tensor->span<double>();
  const uint64_t i = random.next_below(values.size());
  values[i] =
      random.next_below(2) == 0 ? std::numeric_limits<double>::quiet_NaN() : std::numeric_limits<double>::infinity();
  return fmt::format("{}[{}] = {}", input.name, i, values[i]);
}

AnyOp with_own_results(const AnyOp& rounded, const TrialSetup& setup) {
  AnyOp op = rounded;
  for (const OpField& field : op_fields(op)) {
    if (field.accumulate != nullptr) *field.accumulate = setup.accumulate;
    if (field.role == FieldRole::gradient && !setup.only_slot.empty() && field.name != setup.only_slot) {
      *field.tensor = Tensor();
    } else if (field.role != FieldRole::input && field.tensor->defined()) {
      *field.tensor = copy_as(*field.tensor, field.tensor->dtype());
    }
  }
  return op;
}

OpTrial::OpTrial(Backend& backend, const OpCase& one, const AnyOp& rounded, const TrialSetup& setup)
    : backend_(backend), op_(with_own_results(rounded, setup)) {
  int index = 0;
  for (const OpField& field : op_fields(op_)) {
    if (!field.tensor->defined()) continue;
    const bool keeps_contents = field.role == FieldRole::input || field.role == FieldRole::state ||
                                (field.accumulate != nullptr && setup.accumulate);
    // Different distances from alignment for the tensors of one op, too.
    const int shift = setup.misalignment == 0 ? 0 : (setup.misalignment == 1 ? 1 : 3 + 2 * index);
    ++index;
    placed_.push_back(place(std::string(field.name), *field.tensor, type_under_test(one, field, setup.activation),
                            field.role, keeps_contents, shift));
    *field.tensor = placed_.back().tensor;
  }
  for (const auto& [result, input] : one.in_place) {
    const auto target = std::ranges::find(placed_, result, &Placed::name);
    const auto source = std::ranges::find(placed_, input, &Placed::name);
    for (const OpField& field : op_fields(op_)) {
      if (field.name == result) *field.tensor = source->tensor;
    }
    source->is_written = true;
    source->name = result;
    placed_.erase(target);
  }
}

OpTrial::Placed OpTrial::place(const std::string& name, const Tensor& contents, DType dtype, FieldRole role,
                               bool keeps_contents, int misalignment) {
  const size_t offset = kGuardBytes + static_cast<size_t>(misalignment) * size_of(dtype);
  const size_t size = static_cast<size_t>(contents.num_elements()) * size_of(dtype);
  Placed placed{name, {}, {}, std::vector<std::byte>(offset + size + kGuardBytes, kGuard), role != FieldRole::input};
  // What is not kept stays 0xff: NaN.
  if (keeps_contents) {
    const Tensor values = copy_as(contents, dtype);
    if (size > 0) std::memcpy(placed.before.data() + offset, values.bytes(), size);
  }
  const BufferHandle buffer = backend_.allocator().allocate(placed.before.size(), MemoryKind::other);
  placed.whole = Tensor(buffer, 0, {static_cast<int64_t>(placed.before.size())}, DType::u8);
  placed.tensor = Tensor(buffer, offset, contents.shape(), dtype);
  backend_.write(placed.whole, placed.before.data());
  return placed;
}

void OpTrial::fetch(const Placed& placed) {
  std::vector<std::byte> after(placed.before.size());
  backend_.read(placed.whole, after.data());
  const size_t begin = placed.tensor.offset_bytes(), end = begin + placed.tensor.size_bytes();
  for (size_t i = 0; i < after.size(); ++i) {
    if (after[i] == placed.before[i] || (placed.is_written && i >= begin && i < end)) continue;
    stray_write_ = fmt::format("{}: byte {} of {} has changed ({} byte {})", placed.name,
                               static_cast<int64_t>(i) - static_cast<int64_t>(begin), placed.tensor.size_bytes(),
                               i < begin || i >= end ? "guard" : "input", static_cast<int>(after[i]));
    break;
  }
  if (!placed.is_written) return;
  Tensor result = make_host_tensor(placed.tensor.shape(), placed.tensor.dtype());
  if (result.size_bytes() > 0) std::memcpy(result.bytes(), after.data() + begin, result.size_bytes());
  results_[placed.name] = result;
}

void OpTrial::run() {
  op_.check();
  backend_.run(op_);
  for (const Placed& placed : placed_) fetch(placed);
}

std::string forced_instruction_set() {
  const char* name = std::getenv("OWLET_TEST_ISA");
  return name == nullptr ? "" : name;
}

bool has_forced_instruction_set() {
  const std::vector<std::string> sets = cpu_instruction_sets();
  return forced_instruction_set().empty() || std::ranges::find(sets, forced_instruction_set()) != sets.end();
}

Backend& cpu_under_test() {
  static const std::unique_ptr<Backend> backend = [] {
    CpuOptions options;
    options.num_threads = 2;
    options.instruction_set = forced_instruction_set();
    return make_cpu_backend(options);
  }();
  return *backend;
}

}  // namespace owlet::test
