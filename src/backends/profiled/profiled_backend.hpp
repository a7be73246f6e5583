// A backend around another one that measures each operation and holds it against the roofline.
//
//   ProfiledBackend profiled(*cpu);
//   Context ctx(profiled);
//   …
//   fmt::print("{}", format_profile(profiled.report(peaks)));
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "ops/any_op.hpp"
#include "ops/backend.hpp"

namespace owlet {

/// Measured speeds of the machine; 0 = unknown.
struct RooflinePeaks {
  double f32_gflops = 0;
  double bf16_gflops = 0;
  /// Reading memory.
  double gigabytes_per_second = 0;
  /// Writing it, and reading and writing at once, both counted; unknown: as reading.
  double write_gigabytes_per_second = 0, copy_gigabytes_per_second = 0;
};

/// Seconds that `cost` takes at least on a machine with these peaks: the longer of computing and moving; 0 where the
/// peaks are unknown. Moving takes the longest of its reads, its writes, and both together at the speed of copying.
/// `dtype` is the type of the operands (bf16 uses bf16_gflops, all else f32_gflops). Source: Williams, Waterman,
/// Patterson, "Roofline" (CACM 2009).
double roofline_seconds(const Cost& cost, DType dtype, const RooflinePeaks& peaks);

/// What was measured for one op name (and shape, where asked).
struct ProfileRow {
  std::string name;
  uint64_t calls = 0;
  double seconds = 0;
  /// Of all calls together.
  Cost cost;
  /// Share of the seconds in the whole report, 0 to 1.
  double share = 0;
  /// 10^9 FLOPs and bytes per second.
  double gflops = 0, gigabytes_per_second = 0;
  /// Roofline seconds over measured seconds, 0 to 1 (more than 1: caches beat the memory's speed); 0 without peaks.
  double roofline_share = 0;
};

/// Forwards everything to `inner`, which must outlive it. Used by one thread at a time.
class ProfiledBackend final : public Backend {
 public:
  struct Options {
    /// Rows by name and shape ("linear f32 (64, 256) -> …") instead of by name alone.
    bool by_shape = false;
    /// Monotonic seconds; empty = the system's steady clock.
    std::function<double()> clock;
  };

  explicit ProfiledBackend(Backend& inner) : ProfiledBackend(inner, Options{}) {}
  ProfiledBackend(Backend& inner, Options options);

  /// Rows sorted by time, the slowest first.
  std::vector<ProfileRow> report(const RooflinePeaks& peaks = {}) const;
  void reset();

  std::string_view name() const override { return inner_.name(); }
  void run(const AnyOp& op) override;
  bool supports(const AnyOp& op) const override { return inner_.supports(op); }
  CachingAllocator& allocator() override { return inner_.allocator(); }
  void write(const Tensor& tensor, const void* source) override { inner_.write(tensor, source); }
  void read(const Tensor& tensor, void* target) override { inner_.read(tensor, target); }
  bool computes() const override { return inner_.computes(); }

 private:
  struct Entry {
    DType dtype = DType::f32;
    uint64_t calls = 0;
    double seconds = 0;
    Cost cost;
  };

  Backend& inner_;
  Options options_;
  /// By name and element type: the same op in f32 and bf16 has two rooflines.
  std::map<std::string, Entry> entries_;
};

/// A table for the terminal, one line per row and a last line with the sums; columns without numbers are left out.
std::string format_profile(const std::vector<ProfileRow>& rows);

}  // namespace owlet
