#include "tensor/dtype.hpp"

#include <array>

#include "base/error.hpp"

namespace owlet {
namespace {

constexpr std::array<std::string_view, 10> kNames = {"f64", "f32", "bf16", "f16", "i64",
                                                     "i32", "u32", "u16",  "i8",  "u8"};

}  // namespace

std::string_view to_string(DType dtype) { return kNames[static_cast<size_t>(dtype)]; }

DType parse_dtype(std::string_view name) {
  for (size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == name) return static_cast<DType>(i);
  }
  throw Error(ErrorKind::invalid_argument, fmt::format("unknown element type '{}'", name),
              "known types: f64, f32, bf16, f16, i64, i32, u32, u16, i8, u8");
}

}  // namespace owlet
