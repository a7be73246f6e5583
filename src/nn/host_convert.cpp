#include "nn/host_convert.hpp"

#include <cstddef>

#include "base/error.hpp"

namespace owlet {

namespace {

template <typename From, typename To>
To convert_element(From value) {
  if constexpr (std::is_same_v<To, bf16>) {
    return bf16(static_cast<float>(value));
  } else if constexpr (std::is_same_v<From, bf16>) {
    return static_cast<To>(static_cast<float>(value));
  } else {
    return static_cast<To>(value);
  }
}

template <typename From, typename To>
void convert_all(const Tensor& source, const Tensor& target) {
  const std::span<From> from = source.span<From>();
  const std::span<To> to = target.span<To>();
  for (size_t i = 0; i < from.size(); ++i) to[i] = convert_element<From, To>(from[i]);
}

template <typename From>
void convert_from(const Tensor& source, const Tensor& target) {
  switch (target.dtype()) {
    case DType::f64:
      return convert_all<From, double>(source, target);
    case DType::f32:
      return convert_all<From, float>(source, target);
    case DType::bf16:
      return convert_all<From, bf16>(source, target);
    default:
      fail(ErrorKind::unsupported, "weights cannot be held as {}", to_string(target.dtype()));
  }
}

}  // namespace

Tensor convert_on_host(const Tensor& values, DType dtype) {
  if (values.dtype() == dtype) return values;
  Tensor converted = make_host_tensor(values.shape(), dtype);
  switch (values.dtype()) {
    case DType::f64:
      convert_from<double>(values, converted);
      break;
    case DType::f32:
      convert_from<float>(values, converted);
      break;
    case DType::bf16:
      convert_from<bf16>(values, converted);
      break;
    case DType::f16:
      for (int64_t i = 0; i < values.num_elements(); ++i) set_element(converted, i, element_as_double(values, i));
      break;
    default:
      fail(ErrorKind::unsupported, "values of type {} cannot become weights", to_string(values.dtype()));
  }
  return converted;
}

}  // namespace owlet
