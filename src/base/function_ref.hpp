// A reference to something callable: what a function takes that calls back before it returns. Unlike std::function it
// owns nothing, so making one costs nothing.
#pragma once

#include <memory>
#include <type_traits>
#include <utility>

namespace owlet {

template <typename Signature>
class FunctionRef;

/// Refers to a callable, which must outlive the reference; a temporary argument does so for the length of the call.
template <typename Result, typename... Args>
class FunctionRef<Result(Args...)> {
 public:
  template <typename Callable>
  requires(!std::is_same_v<std::remove_cvref_t<Callable>, FunctionRef>)
      FunctionRef(Callable&& callable)  // NOLINT: implicit, as std::function's is
      : object_(const_cast<void*>(static_cast<const void*>(std::addressof(callable)))),
        call_([](void* object, Args... args) -> Result {
          return (*static_cast<std::remove_reference_t<Callable>*>(object))(std::forward<Args>(args)...);
        }) {}

  Result operator()(Args... args) const { return call_(object_, std::forward<Args>(args)...); }

 private:
  void* object_;
  Result (*call_)(void*, Args...);
};

}  // namespace owlet
