// What this computer is and how fast it is: the numbers that plans and rooflines are made of.
//
//   MachineProfile machine = load_machine_profile(machine_profile_path()).value_or(read_machine());
//   if (!machine.is_measured()) machine = measure_machine();
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace owlet {

/// One machine. Speeds are peaks with all threads together, 0 where not measured or not there.
struct MachineProfile {
  std::string cpu_model;                      // as /proc/cpuinfo names it
  int num_cores = 1;                          // physical ones that this process may run on
  int num_logical_cpus = 1;                   // that this process may run on
  std::vector<std::string> instruction_sets;  // the ones that matter to Owlet, in the kernel's spelling
  uint64_t memory_total_bytes = 0;
  uint64_t memory_available_bytes = 0;

  std::string measured_at;   // UTC, ISO 8601; empty: never
  int measured_threads = 0;  // threads that were at work
  double f32_gflops = 0;     // multiply-adds of float, 10^9 FLOP/s
  double bf16_gflops = 0;    // dot products of bfloat16 into float; 0: no such unit
  double int8_gops = 0;      // 8-bit integers into 32-bit ones, 10^9 operations/s; 0: no such unit, or an older file
  // Memory far larger than the caches, 10^9 bytes/s. The last two are 0 in older files.
  double read_gb_per_second = 0;   // reading alone
  double write_gb_per_second = 0;  // writing alone
  double copy_gb_per_second = 0;   // reading and writing equal shares, both counted

  bool is_measured() const { return !measured_at.empty(); }
  bool has_instruction_set(std::string_view name) const;
};

/// How long and on how much memory measure_machine works.
struct MeasureSettings {
  double seconds_per_peak = 0.5;
  uint64_t buffer_bytes = uint64_t{256} << 20;
};

/// What can be read without measuring. Throws Error io / unsupported where /proc is not as Linux has it.
MachineProfile read_machine();

/// read_machine() and the peaks, on num_threads() threads, in about four seconds. Other work on the machine lowers the
/// result: the best of several rounds counts.
MachineProfile measure_machine(const MeasureSettings& settings = {});

/// `state_dir()/machine.json`.
std::filesystem::path machine_profile_path();
/// The saved profile, nothing where the file does not exist. Throws Error corrupt_file naming a wrong field.
std::optional<MachineProfile> load_machine_profile(const std::filesystem::path& path);
/// Writes the profile atomically and creates the folder. Throws Error io.
void save_machine_profile(const MachineProfile& profile, const std::filesystem::path& path);

/// The profile as indented JSON, the text of machine.json.
std::string to_json_text(const MachineProfile& profile);
/// Throws Error corrupt_file naming `source` and the field; ignores fields it does not know.
MachineProfile machine_profile_from_json(std::string_view text, std::string_view source);

/// True where `saved` was made on the machine that `current` describes (same CPU, cores and memory).
bool is_same_machine(const MachineProfile& saved, const MachineProfile& current);

/// Model name and instruction sets in the text of /proc/cpuinfo, for x86-64 and Arm64 (which has no model name: the
/// implementer and part numbers stand in).
struct CpuInfo {
  std::string model;
  std::vector<std::string> instruction_sets;
};
CpuInfo parse_cpu_info(std::string_view text);

}  // namespace owlet
