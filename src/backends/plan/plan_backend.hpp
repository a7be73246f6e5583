// The backend that computes nothing: it counts bytes and FLOPs of the real program, so that a plan cannot drift from
// what it plans.
//
//   auto backend = make_plan_backend(cpu_workspace_bytes);
//   Context ctx(*backend);
//   model.forward(ctx, tokens);
//   backend->allocator().statistics().peak_in_use_bytes;   // what the CPU backend would need
//   backend->report().total.flops;
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "ops/any_op.hpp"
#include "ops/backend.hpp"

namespace owlet {

/// What the operations seen so far cost.
struct PlanReport {
  struct Row {
    std::string name;
    uint64_t count = 0;
    Cost cost;
  };
  /// One row per op name, in the order of first use.
  std::vector<Row> rows;
  Cost total;
};

/// A backend whose tensors have addresses in no memory. write() is ignored, read() gives zeros, computes() is false.
class PlanBackend : public Backend {
 public:
  /// Operations since construction or the last reset_report().
  virtual const PlanReport& report() const = 0;
  virtual void reset_report() = 0;
  /// Called after every operation with its cost; empty: nobody listens.
  virtual void on_operation(std::function<void(const AnyOp&, const Cost&)> listener) = 0;
};

/// `workspace_bytes` tells the scratch memory of the planned backend (cpu_workspace_bytes): during each operation that
/// many bytes are taken from the allocator and given back. Empty: no operation needs any.
std::unique_ptr<PlanBackend> make_plan_backend(std::function<size_t(const AnyOp&)> workspace_bytes);

}  // namespace owlet
