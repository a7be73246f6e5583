// Tensor: a cheap handle on a row-major array. Copying a handle never copies data.
//
//   Tensor x = make_host_tensor({2, 3}, DType::f32);
//   x.data<float>()[4] = 1;            // row 1, column 1
//   Tensor flat = x.reshape({6});      // the same memory
//
// What is not here: arithmetic (see ops/) and allocation from a backend (see ops/context.hpp).
#pragma once

#include <cassert>
#include <compare>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>

#include "tensor/buffer.hpp"
#include "tensor/dtype.hpp"
#include "tensor/shape.hpp"

namespace owlet {

/// Identity of a tensor's memory: two handles with the same key see the same elements.
struct TensorKey {
  uint64_t buffer_id = 0;
  size_t offset_bytes = 0;
  auto operator<=>(const TensorKey&) const = default;
};

/// Handle on (buffer, offset, shape, element type). A default-constructed Tensor is undefined and stands for "none".
class Tensor {
 public:
  Tensor() = default;
  /// Throws Error invalid_argument when the elements do not fit into the buffer behind the offset.
  Tensor(BufferHandle buffer, size_t offset_bytes, Shape shape, DType dtype);

  bool defined() const { return buffer_ != nullptr; }
  explicit operator bool() const { return defined(); }
  const Shape& shape() const { return shape_; }
  DType dtype() const { return dtype_; }
  int64_t dim(int i) const { return shape_[i]; }
  int64_t num_elements() const { return num_elements_; }
  size_t size_bytes() const { return static_cast<size_t>(num_elements_) * size_of(dtype_); }
  /// The tensor seen as a matrix: the last dimension is the column, all others together are the row.
  int64_t columns() const { return shape_.rank() == 0 ? 1 : shape_[-1]; }
  int64_t rows() const { return columns() == 0 ? 0 : num_elements_ / columns(); }

  TensorKey key() const { return {buffer_ ? buffer_->id : 0, offset_bytes_}; }
  const BufferHandle& buffer() const { return buffer_; }
  size_t offset_bytes() const { return offset_bytes_; }
  /// Whether no other handle keeps the buffer alive.
  bool is_only_handle() const { return buffer_.use_count() == 1; }

  /// First byte; null on a backend that computes nothing.
  std::byte* bytes() const { return buffer_ && buffer_->data ? buffer_->data + offset_bytes_ : nullptr; }
  /// First element; T must be the element type.
  template <typename T>
  T* data() const {
    assert(dtype_of<std::remove_const_t<T>> == dtype_ || sizeof(T) == 1);
    return reinterpret_cast<T*>(bytes());
  }
  template <typename T>
  std::span<T> span() const {
    return {data<T>(), static_cast<size_t>(num_elements_)};
  }

  /// The same elements under another shape; throws Error invalid_argument when the counts differ.
  Tensor reshape(const Shape& shape) const;
  /// Rows [begin, end) of the first dimension, the same memory.
  Tensor slice(int64_t begin, int64_t end) const;
  /// Key, shape and type without the memory, which may be freed meanwhile: what the tape needs to know of a result
  /// whose elements backward does not read. bytes() is null.
  Tensor without_memory() const;

 private:
  BufferHandle buffer_;
  size_t offset_bytes_ = 0;
  Shape shape_;
  DType dtype_ = DType::f32;
  int64_t num_elements_ = 0;
};

/// "f32 (2, 3)", or "none".
std::string describe(const Tensor& tensor);

/// A zeroed tensor in ordinary memory (64-byte aligned), outside every backend's allocator: for data, files and tests.
Tensor make_host_tensor(const Shape& shape, DType dtype, MemoryKind kind = MemoryKind::other);

/// Element i as double, whatever the floating or integer type. For tests and small results, not for loops.
double element_as_double(const Tensor& tensor, int64_t i);
/// Stores `value` at element i, rounded to the element type.
void set_element(const Tensor& tensor, int64_t i, double value);

}  // namespace owlet
