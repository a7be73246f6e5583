#include "tensor/tensor.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>

#include "base/error.hpp"

namespace owlet {

Tensor::Tensor(BufferHandle buffer, size_t offset_bytes, Shape shape, DType dtype)
    : buffer_(std::move(buffer)),
      offset_bytes_(offset_bytes),
      shape_(shape),
      dtype_(dtype),
      num_elements_(shape.num_elements()) {
  const size_t capacity = buffer_ ? buffer_->size_bytes : 0;
  check(offset_bytes <= capacity && size_bytes() <= capacity - offset_bytes, ErrorKind::invalid_argument,
        "tensor {} at byte {} does not fit into a buffer of {} bytes", describe(*this), offset_bytes, capacity);
}

Tensor Tensor::reshape(const Shape& shape) const {
  check(shape.num_elements() == num_elements_, ErrorKind::invalid_argument, "cannot see {} as shape {}",
        describe(*this), to_string(shape));
  return Tensor(buffer_, offset_bytes_, shape, dtype_);
}

Tensor Tensor::without_memory() const {
  if (!defined()) return {};
  Tensor name = *this;
  name.buffer_ = std::make_shared<Buffer>(Buffer{nullptr, buffer_->size_bytes, buffer_->id, buffer_->kind});
  return name;
}

Tensor Tensor::slice(int64_t begin, int64_t end) const {
  check(shape_.rank() > 0 && 0 <= begin && begin <= end && end <= shape_[0], ErrorKind::invalid_argument,
        "cannot take rows [{}, {}) of {}", begin, end, describe(*this));
  std::array<int64_t, Shape::kMaxRank> dims{};
  const auto old_dims = shape_.dims();
  std::copy(old_dims.begin(), old_dims.end(), dims.begin());
  const int64_t row_elements = shape_[0] == 0 ? 0 : num_elements_ / shape_[0];
  dims[0] = end - begin;
  const size_t offset = offset_bytes_ + static_cast<size_t>(begin * row_elements) * size_of(dtype_);
  return Tensor(buffer_, offset, Shape(std::span<const int64_t>(dims.data(), old_dims.size())), dtype_);
}

std::string describe(const Tensor& tensor) {
  if (!tensor.defined()) return "none";
  return fmt::format("{} {}", to_string(tensor.dtype()), to_string(tensor.shape()));
}

Tensor make_host_tensor(const Shape& shape, DType dtype, MemoryKind kind) {
  constexpr size_t kAlignment = 64;
  const size_t size = static_cast<size_t>(shape.num_elements()) * size_of(dtype);
  const size_t rounded = (size + kAlignment) / kAlignment * kAlignment;
  auto* data = static_cast<std::byte*>(std::aligned_alloc(kAlignment, rounded));
  check(data != nullptr, ErrorKind::out_of_memory, "no memory for a tensor of {} bytes", size);
  std::memset(data, 0, rounded);
  BufferHandle buffer(new Buffer{data, size, next_buffer_id(), kind}, [](Buffer* dying) {
    std::free(dying->data);
    delete dying;
  });
  return Tensor(std::move(buffer), 0, shape, dtype);
}

namespace {

float half_to_float(uint16_t half) {
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000u) << 16;
  const uint32_t exponent = (half >> 10) & 0x1fu;
  const uint32_t mantissa = half & 0x3ffu;
  if (exponent == 0x1f) return std::bit_cast<float>(sign | 0x7f800000u | (mantissa << 13));
  if (exponent == 0) {
    const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
    return sign != 0 ? -magnitude : magnitude;
  }
  return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
}

}  // namespace

double element_as_double(const Tensor& tensor, int64_t i) {
  switch (tensor.dtype()) {
    case DType::f64:
      return tensor.data<double>()[i];
    case DType::f32:
      return tensor.data<float>()[i];
    case DType::bf16:
      return static_cast<float>(tensor.data<bf16>()[i]);
    case DType::f16:
      return half_to_float(reinterpret_cast<const uint16_t*>(tensor.bytes())[i]);
    case DType::i64:
      return static_cast<double>(tensor.data<int64_t>()[i]);
    case DType::i32:
      return tensor.data<int32_t>()[i];
    case DType::u32:
      return tensor.data<uint32_t>()[i];
    case DType::u16:
      return tensor.data<uint16_t>()[i];
    case DType::i8:
      return tensor.data<int8_t>()[i];
    case DType::u8:
      return tensor.data<uint8_t>()[i];
  }
  return 0;
}

void set_element(const Tensor& tensor, int64_t i, double value) {
  switch (tensor.dtype()) {
    case DType::f64:
      tensor.data<double>()[i] = value;
      return;
    case DType::f32:
      tensor.data<float>()[i] = static_cast<float>(value);
      return;
    case DType::bf16:
      tensor.data<bf16>()[i] = bf16(static_cast<float>(value));
      return;
    case DType::i64:
      tensor.data<int64_t>()[i] = static_cast<int64_t>(value);
      return;
    case DType::i32:
      tensor.data<int32_t>()[i] = static_cast<int32_t>(value);
      return;
    case DType::u32:
      tensor.data<uint32_t>()[i] = static_cast<uint32_t>(value);
      return;
    case DType::u16:
      tensor.data<uint16_t>()[i] = static_cast<uint16_t>(value);
      return;
    case DType::i8:
      tensor.data<int8_t>()[i] = static_cast<int8_t>(value);
      return;
    case DType::u8:
      tensor.data<uint8_t>()[i] = static_cast<uint8_t>(value);
      return;
    case DType::f16:
      break;
  }
  fail(ErrorKind::unsupported, "cannot store into elements of type {}", to_string(tensor.dtype()));
}

}  // namespace owlet
