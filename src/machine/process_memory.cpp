#include "machine/process_memory.hpp"

#include <sys/resource.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include <charconv>
#include <fstream>
#include <limits>

#include "base/atomic_file.hpp"
#include "base/error.hpp"

namespace owlet {

namespace {

/// The bytes of a line `FIELD:   123 kB`.
uint64_t read_field_bytes(std::string_view text, std::string_view field, std::string_view source) {
  size_t line_start = 0;
  while (line_start < text.size()) {
    const size_t line_end = std::min(text.find('\n', line_start), text.size());
    std::string_view line = text.substr(line_start, line_end - line_start);
    line_start = line_end + 1;
    if (!line.starts_with(field) || line.substr(field.size(), 1) != ":") continue;
    std::string_view value = line.substr(field.size() + 1);
    value.remove_prefix(std::min(value.find_first_not_of(" \t"), value.size()));
    uint64_t kibibytes = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), kibibytes);
    const std::string_view unit = value.substr(static_cast<size_t>(end - value.data()));
    check(error == std::errc() && unit == " kB" && kibibytes <= std::numeric_limits<uint64_t>::max() / 1024,
          ErrorKind::unsupported, "{}: '{}' is '{}', expected a number of kB", source, field, value);
    return kibibytes * 1024;
  }
  fail(ErrorKind::unsupported, "{} has no field '{}'", source, field);
}

}  // namespace

ProcessMemory parse_process_status(std::string_view text) {
  ProcessMemory memory;
  memory.resident_bytes = read_field_bytes(text, "VmRSS", "/proc/self/status");
  memory.peak_resident_bytes = read_field_bytes(text, "VmHWM", "/proc/self/status");
  return memory;
}

SystemMemory parse_memory_info(std::string_view text) {
  return {read_field_bytes(text, "MemTotal", "/proc/meminfo"), read_field_bytes(text, "MemAvailable", "/proc/meminfo")};
}

ProcessMemory read_process_memory() {
  ProcessMemory memory = parse_process_status(read_file("/proc/self/status"));
  rusage usage{};
  if (getrusage(RUSAGE_SELF, &usage) == 0) {
    memory.num_minor_faults = static_cast<uint64_t>(usage.ru_minflt);
    memory.num_major_faults = static_cast<uint64_t>(usage.ru_majflt);
  }
  return memory;
}

SystemMemory read_system_memory() { return parse_memory_info(read_file("/proc/meminfo")); }

void keep_freed_memory() {
#ifdef __GLIBC__
  mallopt(M_MMAP_THRESHOLD, 32 << 20);
  mallopt(M_TRIM_THRESHOLD, 64 << 20);
#endif
}

bool reset_peak_resident() {
  std::ofstream file("/proc/self/clear_refs");
  file << "5" << std::flush;  // 5: reset the peak resident size (proc(5))
  return file.good();
}

}  // namespace owlet
