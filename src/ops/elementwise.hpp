// Small operations over whole tensors: cast, split, fill, random initialisation, sum of squares.
#pragma once

#include "ops/context.hpp"
#include "ops/cost.hpp"

namespace owlet {

namespace op {

/// y = x rounded to y's type; f64, f32, bf16 in any combination. With equal types a copy, bit for bit.
struct Cast {
  static constexpr std::string_view kName = "cast";
  Tensor x, y;
  void check() const;
  Cost cost() const;
};

/// The two halves of x (tensor/formats/split_weight.hpp): weight bf16, lower_bits u16; x f32. Beside f64, x and weight
/// are f64, and weight receives the value of the bf16 number.
struct SplitWeight {
  static constexpr std::string_view kName = "split_weight";
  Tensor x, weight, lower_bits;
  void check() const;
  Cost cost() const;
};

/// y = value everywhere; f64, f32, bf16, i32, i8, u8.
struct Fill {
  static constexpr std::string_view kName = "fill";
  Tensor y;
  float value = 0;
  void check() const;
  Cost cost() const;
};

/// y[i] = mean + deviation * random_normal(seed, stream, i); f64, f32 or bf16. Bits do not depend on the thread count.
struct FillNormal {
  static constexpr std::string_view kName = "fill_normal";
  Tensor y;
  float mean = 0, deviation = 1;
  uint64_t seed = 0, stream = 0;
  void check() const;
  Cost cost() const;
};

/// result[0] = sum of x[i]^2, in a fixed order; x f64, f32 or bf16, result f64 (1). NaN or infinity in x shows in the
/// result.
struct SquaredNorm {
  static constexpr std::string_view kName = "squared_norm";
  Tensor x, result;
  void check() const;
  Cost cost() const;
};

}  // namespace op

/// x in another element type, without a gradient.
Tensor cast(Context& ctx, const Tensor& x, DType dtype);

}  // namespace owlet
