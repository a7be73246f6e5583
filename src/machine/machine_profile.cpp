#include "machine/machine_profile.hpp"

#include <sched.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <ctime>
#include <map>
#include <set>
#include <sstream>
#include <thread>
#include <utility>

#include "base/atomic_file.hpp"
#include "base/error.hpp"
#include "base/json.hpp"
#include "base/parallel_for.hpp"
#include "base/paths.hpp"
#include "machine/measure_memory.hpp"
#include "machine/measure_peaks.hpp"
#include "machine/process_memory.hpp"

namespace owlet {

namespace {

constexpr int kFileVersion = 1;
constexpr const char* kSysfsCpuFolder = "/sys/devices/system/cpu";

/// Instruction sets worth showing, oldest first; x86-64, then Arm64.
constexpr std::array kKnownInstructionSets = {"sse4_2",      "avx",         "f16c",     "fma",      "avx2",
                                              "avx_vnni",    "avx512f",     "avx512bw", "avx512vl", "avx512_vnni",
                                              "avx512_bf16", "avx512_fp16", "amx_bf16", "amx_int8", "asimd",
                                              "asimddp",     "i8mm",        "bf16",     "sve",      "sve2"};

std::string_view trim(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t\r");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
}

std::vector<int> cpus_of_this_process() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cpus;
  if (sched_getaffinity(0, sizeof set, &set) == 0) {
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
    }
  } else {  // more processors than the set holds
    for (int cpu = 0; cpu < static_cast<int>(std::thread::hardware_concurrency()); ++cpu) cpus.push_back(cpu);
  }
  return cpus;
}

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text.data();
}

/// A speed from the file: JSON has no infinities, negative ones are refused.
double get_speed(const Json& object, std::string_view key, std::string_view source) {
  const double value = json_get<double>(object, key, source);
  check(std::isfinite(value) && value >= 0, ErrorKind::corrupt_file, "{}: '{}' is {}, expected at least 0", source, key,
        value);
  return value;
}

int get_count(const Json& object, std::string_view key, std::string_view source) {
  const int value = json_get<int>(object, key, source);
  check(value >= 1, ErrorKind::corrupt_file, "{}: '{}' is {}, expected at least 1", source, key, value);
  return value;
}

}  // namespace

bool MachineProfile::has_instruction_set(std::string_view name) const {
  return std::find(instruction_sets.begin(), instruction_sets.end(), name) != instruction_sets.end();
}

CpuInfo parse_cpu_info(std::string_view text) {
  std::map<std::string_view, std::string_view> fields;  // of the first processor
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const size_t colon = line.find(':');
    if (colon != std::string_view::npos) fields.emplace(trim(line.substr(0, colon)), trim(line.substr(colon + 1)));
  }
  CpuInfo info;
  if (fields.contains("model name")) {
    info.model = fields["model name"];
  } else if (fields.contains("CPU part")) {
    info.model = fmt::format("Arm CPU, implementer {}, part {}", fields["CPU implementer"], fields["CPU part"]);
  } else {
    info.model = "unknown CPU";
  }
  std::istringstream words{std::string(fields.contains("flags") ? fields["flags"] : fields["Features"])};
  std::set<std::string> flags;
  for (std::string word; words >> word;) flags.insert(word);
  for (const char* name : kKnownInstructionSets) {
    if (flags.contains(name)) info.instruction_sets.emplace_back(name);
  }
  return info;
}

MachineProfile read_machine() {
  MachineProfile profile;
  const CpuInfo cpu = parse_cpu_info(read_file("/proc/cpuinfo"));
  const std::vector<int> cpus = cpus_of_this_process();
  const SystemMemory memory = read_system_memory();
  profile.cpu_model = cpu.model;
  profile.instruction_sets = cpu.instruction_sets;
  profile.num_logical_cpus = std::max(1, static_cast<int>(cpus.size()));
  profile.num_cores = count_physical_cores(cpus, kSysfsCpuFolder);
  profile.memory_total_bytes = memory.total_bytes;
  profile.memory_available_bytes = memory.available_bytes;
  return profile;
}

MachineProfile measure_machine(const MeasureSettings& settings) {
  MachineProfile profile = read_machine();
  profile.measured_threads = num_threads();
  profile.f32_gflops = measure_f32_gflops(settings.seconds_per_peak);
  profile.bf16_gflops = measure_bf16_gflops(settings.seconds_per_peak);
  profile.int8_gops = measure_int8_gops(settings.seconds_per_peak);
  const MemorySpeeds memory = measure_memory(settings.seconds_per_peak, settings.buffer_bytes);
  profile.read_gb_per_second = memory.read_gb_per_second;
  profile.write_gb_per_second = memory.write_gb_per_second;
  profile.copy_gb_per_second = memory.copy_gb_per_second;
  profile.measured_at = utc_now();
  return profile;
}

std::filesystem::path machine_profile_path() { return state_dir() / "machine.json"; }

std::string to_json_text(const MachineProfile& profile) {
  OrderedJson json;
  json["version"] = kFileVersion;
  json["cpu"] = {{"model", profile.cpu_model},
                 {"cores", profile.num_cores},
                 {"logical_cpus", profile.num_logical_cpus},
                 {"instruction_sets", profile.instruction_sets}};
  json["memory"] = {{"total_bytes", profile.memory_total_bytes}, {"available_bytes", profile.memory_available_bytes}};
  if (profile.is_measured()) {
    json["measured"] = {{"at", profile.measured_at},
                        {"threads", profile.measured_threads},
                        {"f32_gflops", profile.f32_gflops},
                        {"bf16_gflops", profile.bf16_gflops},
                        {"int8_gops", profile.int8_gops},
                        {"read_gb_per_second", profile.read_gb_per_second},
                        {"write_gb_per_second", profile.write_gb_per_second},
                        {"copy_gb_per_second", profile.copy_gb_per_second}};
  }
  return dump_json(json, 2) + "\n";
}

MachineProfile machine_profile_from_json(std::string_view text, std::string_view source) {
  const Json json = parse_json(text, source);
  const int version = json_get<int>(json, "version", source);
  check(version == kFileVersion, ErrorKind::unsupported, "{}: version {}, this program reads version {}", source,
        version, kFileVersion);
  const Json cpu = json_get<Json>(json, "cpu", source), memory = json_get<Json>(json, "memory", source);
  MachineProfile profile;
  profile.cpu_model = json_get<std::string>(cpu, "model", source);
  profile.num_cores = get_count(cpu, "cores", source);
  profile.num_logical_cpus = get_count(cpu, "logical_cpus", source);
  profile.instruction_sets = json_get<std::vector<std::string>>(cpu, "instruction_sets", source);
  profile.memory_total_bytes = json_get<uint64_t>(memory, "total_bytes", source);
  profile.memory_available_bytes = json_get<uint64_t>(memory, "available_bytes", source);
  const Json measured = json_get_or<Json>(json, "measured", nullptr, source);
  if (measured.is_null()) return profile;
  profile.measured_at = json_get<std::string>(measured, "at", source);
  profile.measured_threads = get_count(measured, "threads", source);
  profile.f32_gflops = get_speed(measured, "f32_gflops", source);
  profile.bf16_gflops = get_speed(measured, "bf16_gflops", source);
  profile.read_gb_per_second = get_speed(measured, "read_gb_per_second", source);
  // Measured by later versions only.
  for (const auto& [key, speed] : {std::pair{"int8_gops", &profile.int8_gops},
                                   {"write_gb_per_second", &profile.write_gb_per_second},
                                   {"copy_gb_per_second", &profile.copy_gb_per_second}}) {
    if (measured.contains(key)) *speed = get_speed(measured, key, source);
  }
  return profile;
}

std::optional<MachineProfile> load_machine_profile(const std::filesystem::path& path) {
  if (!std::filesystem::exists(path)) return std::nullopt;
  return machine_profile_from_json(read_file(path), path.string());
}

void save_machine_profile(const MachineProfile& profile, const std::filesystem::path& path) {
  std::error_code error;
  std::filesystem::create_directories(path.parent_path(), error);
  check(!error, ErrorKind::io, "cannot create folder '{}': {}", path.parent_path().string(), error.message());
  write_file_atomically(path, to_json_text(profile));
}

bool is_same_machine(const MachineProfile& saved, const MachineProfile& current) {
  return saved.cpu_model == current.cpu_model && saved.num_cores == current.num_cores &&
         saved.num_logical_cpus == current.num_logical_cpus && saved.instruction_sets == current.instruction_sets &&
         saved.memory_total_bytes == current.memory_total_bytes;
}

}  // namespace owlet
