// The machine's measured speeds as the commands use them: saved once, measured when asked or when missing.
#pragma once

#include "cli/console.hpp"
#include "machine/machine_profile.hpp"

namespace owlet {

/// The saved profile if it is of this machine, else what can be read without measuring.
MachineProfile known_machine();
/// Measures (about four seconds), saves and returns the profile.
MachineProfile measure_and_save(Console& console);
/// known_machine(), measured first if it is not; a state folder that cannot be written is only a warning.
MachineProfile measured_machine(Console& console);

}  // namespace owlet
