#include "backends/plan/plan_backend.hpp"

#include <cstring>
#include <map>
#include <utility>

namespace owlet {
namespace {

class CountingBackend final : public PlanBackend {
 public:
  explicit CountingBackend(std::function<size_t(const AnyOp&)> workspace_bytes)
      : workspace_bytes_(std::move(workspace_bytes)), allocator_(make_virtual_memory_source()) {}

  std::string_view name() const override { return "plan"; }

  void run(const AnyOp& op) override {
    const size_t scratch = workspace_bytes_ ? workspace_bytes_(op) : 0;
    if (scratch > 0) allocator_.allocate(scratch, MemoryKind::workspace);  // given back at once, the peak remembers it
    const Cost cost = op.cost();
    PlanReport::Row& row = row_of(op.name());
    row.count += 1;
    row.cost += cost;
    report_.total += cost;
    if (listener_) listener_(op, cost);
  }

  bool supports(const AnyOp&) const override { return true; }
  CachingAllocator& allocator() override { return allocator_; }
  void write(const Tensor&, const void*) override {}
  void read(const Tensor& tensor, void* target) override { std::memset(target, 0, tensor.size_bytes()); }
  bool computes() const override { return false; }

  const PlanReport& report() const override { return report_; }
  void reset_report() override {
    report_ = {};
    row_by_name_.clear();
  }
  void on_operation(std::function<void(const AnyOp&, const Cost&)> listener) override {
    listener_ = std::move(listener);
  }

 private:
  PlanReport::Row& row_of(std::string_view name) {
    const auto [position, is_new] = row_by_name_.try_emplace(name, report_.rows.size());
    if (is_new) report_.rows.push_back({std::string(name), 0, {}});
    return report_.rows[position->second];
  }

  std::function<size_t(const AnyOp&)> workspace_bytes_;
  std::function<void(const AnyOp&, const Cost&)> listener_;
  CachingAllocator allocator_;
  PlanReport report_;
  std::map<std::string_view, size_t> row_by_name_;  // keys are the ops' kName: they live for ever
};

}  // namespace

std::unique_ptr<PlanBackend> make_plan_backend(std::function<size_t(const AnyOp&)> workspace_bytes) {
  return std::make_unique<CountingBackend>(std::move(workspace_bytes));
}

}  // namespace owlet
