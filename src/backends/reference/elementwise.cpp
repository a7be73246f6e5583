// Cast, SplitWeight, Fill, FillNormal and SquaredNorm.
#include <cmath>
#include <cstring>

#include "backends/reference/kernels.hpp"
#include "base/random.hpp"
#include "tensor/formats/split_weight.hpp"

namespace owlet::reference {

void run(const op::Cast& op) {
  if (op.x.dtype() == op.y.dtype()) {
    if (op.x.size_bytes() > 0) std::memmove(op.y.bytes(), op.x.bytes(), op.x.size_bytes());
    return;
  }
  for (int64_t i = 0; i < op.x.num_elements(); ++i) set_element(op.y, i, element_as_double(op.x, i));
}

void run(const op::SplitWeight& op) {
  for (int64_t i = 0; i < op.x.num_elements(); ++i) {
    const formats::SplitWeight halves = formats::split_weight(static_cast<float>(element_as_double(op.x, i)));
    set_element(op.weight, i, static_cast<float>(halves.upper));
    op.lower_bits.data<uint16_t>()[i] = halves.lower;
  }
}

void run(const op::Fill& op) {
  for (int64_t i = 0; i < op.y.num_elements(); ++i) set_element(op.y, i, double{op.value});
}

void run(const op::FillNormal& op) {
  for (int64_t i = 0; i < op.y.num_elements(); ++i) {
    const double normal = random_normal(op.seed, op.stream, static_cast<uint64_t>(i));
    set_element(op.y, i, double{op.mean} + double{op.deviation} * normal);
  }
}

void run(const op::SquaredNorm& op) {
  double sum = 0;
  for (int64_t i = 0; i < op.x.num_elements(); ++i) sum += std::pow(element_as_double(op.x, i), 2);
  f64(op.result)[0] = sum;
}

}  // namespace owlet::reference
