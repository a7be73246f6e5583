// What memory the machine has and what this process uses of it, read from /proc.
#pragma once

#include <cstdint>
#include <string_view>

namespace owlet {

/// Memory of this process. Faults count since the process began: minor ones map a page that is in memory already (first
/// touch), major ones read from disk.
struct ProcessMemory {
  uint64_t resident_bytes = 0;
  uint64_t peak_resident_bytes = 0;
  uint64_t num_minor_faults = 0;
  uint64_t num_major_faults = 0;
};

/// Memory of the whole machine; available_bytes is the kernel's estimate of what can be had without swapping.
struct SystemMemory {
  uint64_t total_bytes = 0;
  uint64_t available_bytes = 0;
};

/// Throws Error io where /proc is missing and unsupported where it lacks a field.
ProcessMemory read_process_memory();
SystemMemory read_system_memory();

/// Sets the process's peak back to its present size, so that a part of a run can be measured. Returns false where the
/// kernel does not allow it.
bool reset_peak_resident();

/// Asks the C library to keep what is freed for later requests: blocks under 32 MiB (batches, for instance) then come
/// from its heap, and the heap's end is given back only where more than 64 MiB lie free. First touch of memory is slow,
/// so programs that allocate the same again and again call this once at their start. Does nothing where the C library
/// has no such setting.
void keep_freed_memory();

/// The sizes in the text of /proc/self/status (VmRSS, VmHWM) and /proc/meminfo (MemTotal, MemAvailable). Throws Error
/// unsupported naming a field that is missing or not a number of kB.
ProcessMemory parse_process_status(std::string_view text);
SystemMemory parse_memory_info(std::string_view text);

}  // namespace owlet
