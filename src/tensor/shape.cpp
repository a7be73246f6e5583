#include "tensor/shape.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace owlet {

Shape::Shape(std::span<const int64_t> dims) {
  check(dims.size() <= kMaxRank, ErrorKind::invalid_argument, "a shape has {} dimensions, at most {} are supported",
        dims.size(), kMaxRank);
  constexpr int64_t kMaxElements = int64_t{1} << 62;
  int64_t product = 1;
  for (int64_t dim : dims) {
    check(dim >= 0, ErrorKind::invalid_argument, "a shape has the negative dimension {}", dim);
    check(dim == 0 || product <= kMaxElements / dim, ErrorKind::invalid_argument,
          "a shape has more than 2^62 elements");
    product *= std::max<int64_t>(dim, 1);
    dims_[static_cast<size_t>(rank_++)] = dim;
  }
}

int64_t Shape::num_elements() const {
  int64_t product = 1;
  for (int64_t dim : dims()) product *= dim;
  return product;
}

bool Shape::operator==(const Shape& other) const { return std::ranges::equal(dims(), other.dims()); }

std::string to_string(const Shape& shape) {
  std::string text = "(";
  for (int i = 0; i < shape.rank(); ++i) text += fmt::format("{}{}", i > 0 ? ", " : "", shape[i]);
  return text + ")";
}

}  // namespace owlet
