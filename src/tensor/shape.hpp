// Shapes of tensors: up to five dimensions, row-major.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

namespace owlet {

/// Dimensions of a tensor, slowest first. A value type without allocation.
class Shape {
 public:
  static constexpr int kMaxRank = 5;

  Shape() = default;
  /// Throws Error invalid_argument for a negative dimension, more than kMaxRank dimensions or a product over 2^62.
  Shape(std::initializer_list<int64_t> dims) : Shape(std::span<const int64_t>(dims.begin(), dims.size())) {}
  explicit Shape(std::span<const int64_t> dims);

  int rank() const { return rank_; }
  /// Dimension i; negative i counts from the end.
  int64_t operator[](int i) const { return dims_[static_cast<size_t>(i < 0 ? i + rank_ : i)]; }
  /// Number of elements; 1 for rank 0.
  int64_t num_elements() const;
  std::span<const int64_t> dims() const { return {dims_.data(), static_cast<size_t>(rank_)}; }
  bool operator==(const Shape& other) const;

 private:
  std::array<int64_t, kMaxRank> dims_{};
  int rank_ = 0;
};

/// "(2, 3)".
std::string to_string(const Shape& shape);

}  // namespace owlet
