// Rotary position embedding, both styles and directions.
#include "backends/reference/kernels.hpp"
#include "base/error.hpp"

namespace owlet::reference {

void run(const op::Rope& op) {
  const int64_t num_tokens = op.x.dim(0) * op.x.dim(1), H = op.x.dim(2), D = op.x.dim(3);
  const int64_t P = op.table.dim(0), num_pairs = op.table.dim(1);
  const auto store = [&](int64_t i, double value) {
    double& y = f64(op.y)[i];
    y = op.accumulate ? y + value : value;
  };
  for (int64_t n = 0; n < num_tokens; ++n) {
    const int64_t position = i32(op.positions)[n];
    check(position >= 0 && position < P, ErrorKind::invalid_argument, "rope: position {} is outside [0, {})", position,
          P);
    for (int64_t h = 0; h < H; ++h) {
      const int64_t base = (n * H + h) * D;
      for (int64_t i = 0; i < num_pairs; ++i) {
        const bool is_halves = op.style == RopeStyle::halves;
        const int64_t a = base + (is_halves ? i : 2 * i), b = base + (is_halves ? i + num_pairs : 2 * i + 1);
        const double cosine = f64(op.table)[(position * num_pairs + i) * 2];
        const double sine = f64(op.table)[(position * num_pairs + i) * 2 + 1] * (op.inverse ? -1 : 1);
        const double xa = f64(op.x)[a], xb = f64(op.x)[b];
        store(a, xa * cosine - xb * sine);
        store(b, xb * cosine + xa * sine);
      }
      for (int64_t d = 2 * num_pairs; d < D; ++d) store(base + d, f64(op.x)[base + d]);
    }
  }
}

}  // namespace owlet::reference
