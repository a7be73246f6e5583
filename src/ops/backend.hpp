// Backend: anything that can run an AnyOp. Models, trainer and server see only this face.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "ops/caching_allocator.hpp"
#include "tensor/tensor.hpp"

namespace owlet {

struct AnyOp;

/// A place where tensors live and operations run. Used by one thread at a time.
class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string_view name() const = 0;

  /// Runs one operation whose check() has passed. Throws Error unsupported naming op and types where it cannot,
  /// invalid_argument for bad values found inside tensors (a token id out of range).
  virtual void run(const AnyOp& op) = 0;

  /// Whether run() would take this op with these element types.
  virtual bool supports(const AnyOp& op) const = 0;

  /// Where this backend's tensors come from.
  virtual CachingAllocator& allocator() = 0;

  /// Copies bytes from ordinary memory into a tensor, or back. A backend that computes nothing ignores the first and
  /// answers zeros to the second.
  virtual void write(const Tensor& tensor, const void* source) = 0;
  virtual void read(const Tensor& tensor, void* target) = 0;

  /// False where tensors hold no numbers (the planner): results must not steer the program.
  virtual bool computes() const { return true; }
};

}  // namespace owlet
