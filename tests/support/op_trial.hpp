// One run of an OpCase on a backend under test: rounding of the inputs, guard bands, misaligned tensors, and what came
// out.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "ops/backend.hpp"
#include "ops/op_fields.hpp"
#include "tests/support/op_case.hpp"

namespace owlet::test {

/// Circumstances of one run.
struct TrialSetup {
  DType activation = DType::f32;
  /// How far tensors stand from the alignment of their buffers, in different ways for 0 (aligned) to 2.
  int misalignment = 0;
  /// Gradient slots (and accumulating results) hold numbers before the run, which it adds to. Else they hold NaN.
  bool accumulate = false;
  /// Where not empty: the only gradient that is wanted.
  std::string only_slot;

  std::string describe() const;
};

/// Every setup a case is run in: both types, three misalignments, slots written and added to, each slot alone.
std::vector<TrialSetup> setups_of(const OpCase& one);

/// The element type of a field when the op runs in `activation`.
DType type_under_test(const OpCase& one, const OpField& field, DType activation);

/// The case in f64, with all its numbers rounded to the types under test; slots hold numbers to add to.
AnyOp round_op(const OpCase& one, DType activation);
/// Puts NaN or infinity into a random element of a random floating-point input of a rounded op; says what it did.
std::string poison_inputs(const AnyOp& rounded, RandomStream& random);
/// A copy of a rounded op with memory of its own for everything that is written, accumulation and wanted slots set.
AnyOp with_own_results(const AnyOp& rounded, const TrialSetup& setup);

/// A rounded op on a backend under test. Every tensor stands between guard bands of 0xff bytes (NaN as floating-point
/// numbers, an invalid index as integers), so that strays are seen, written or read.
class OpTrial {
 public:
  OpTrial(Backend& backend, const OpCase& one, const AnyOp& rounded, const TrialSetup& setup);

  /// The op on the backend's tensors, types as under test.
  const AnyOp& op() const { return op_; }
  /// op.check(), run, and fetch the results.
  void run();

  /// Contents of everything that the op writes, in ordinary memory.
  const std::map<std::string, Tensor, std::less<>>& results() const { return results_; }
  /// Names the tensor whose guard bands or input values have changed; empty if none.
  const std::string& stray_write() const { return stray_write_; }

 private:
  struct Placed {
    std::string name;
    Tensor whole, tensor;
    std::vector<std::byte> before;
    bool is_written;
  };

  Placed place(const std::string& name, const Tensor& contents, DType dtype, FieldRole role, bool keeps_contents,
               int misalignment);
  void fetch(const Placed& placed);

  Backend& backend_;
  AnyOp op_;
  std::vector<Placed> placed_;
  std::map<std::string, Tensor, std::less<>> results_;
  std::string stray_write_;
};

/// The same op with `OWLET_TEST_ISA`'s instruction set, or the best: one CPU backend for the whole test program.
Backend& cpu_under_test();
/// The value of OWLET_TEST_ISA, empty if not set; and whether this machine has it.
std::string forced_instruction_set();
bool has_forced_instruction_set();

}  // namespace owlet::test
