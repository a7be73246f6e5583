#include "cli/machine_peaks.hpp"

#include "base/error.hpp"

namespace owlet {

MachineProfile known_machine() {
  const MachineProfile current = read_machine();
  auto saved = load_machine_profile(machine_profile_path());
  if (!saved || !is_same_machine(*saved, current)) return current;
  saved->memory_available_bytes = current.memory_available_bytes;
  return *saved;
}

MachineProfile measure_and_save(Console& console) {
  console.progress("measuring the machine …");
  const MachineProfile machine = measure_machine();
  console.clear_progress();
  try {
    save_machine_profile(machine, machine_profile_path());
  } catch (const Error& error) {
    console.warning(fmt::format("the measured speeds are not kept: {}", error.what()));
  }
  return machine;
}

MachineProfile measured_machine(Console& console) {
  const MachineProfile machine = known_machine();
  return machine.is_measured() ? machine : measure_and_save(console);
}

}  // namespace owlet
