#include "machine/machine_profile.hpp"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/atomic_file.hpp"
#include "base/error.hpp"
#include "base/json.hpp"
#include "base/parallel_for.hpp"
#include "base/temporary_folder.hpp"

namespace owlet {
namespace {

MachineProfile sample_profile() {
  MachineProfile profile;
  profile.cpu_model = "A CPU";
  profile.num_cores = 16;
  profile.num_logical_cpus = 32;
  profile.instruction_sets = {"avx2", "avx512_bf16"};
  profile.memory_total_bytes = uint64_t{128} << 30;
  profile.memory_available_bytes = uint64_t{100} << 30;
  profile.measured_at = "2026-11-30T22:00:00Z";
  profile.measured_threads = 16;
  profile.f32_gflops = 3500.25;
  profile.bf16_gflops = 7000.5;
  profile.int8_gops = 14000.5;
  profile.read_gb_per_second = 215.125;
  profile.write_gb_per_second = 200.5;
  profile.copy_gb_per_second = 230.25;
  return profile;
}

TEST(ParseCpuInfo, ReadsAnX86Cpu) {
  const CpuInfo info = parse_cpu_info(
      "processor\t: 0\nmodel name\t: AMD RYZEN AI MAX+ 395 w/ Radeon 8060S\n"
      "flags\t\t: fpu sse4_2 avx avx2 fma avx512f avx512_bf16\n\nprocessor\t: 1\nmodel name\t: other\nflags\t\t: "
      "fpu\n");
  EXPECT_EQ(info.model, "AMD RYZEN AI MAX+ 395 w/ Radeon 8060S");
  EXPECT_EQ(info.instruction_sets,
            (std::vector<std::string>{"sse4_2", "avx", "fma", "avx2", "avx512f", "avx512_bf16"}));
}

TEST(ParseCpuInfo, ReadsAnArmCpu) {
  const CpuInfo info = parse_cpu_info(
      "processor\t: 0\nBogoMIPS\t: 50.00\nFeatures\t: fp asimd asimddp sve bf16\nCPU implementer\t: 0x41\n"
      "CPU architecture: 8\nCPU part\t: 0xd40\n");
  EXPECT_EQ(info.model, "Arm CPU, implementer 0x41, part 0xd40");
  EXPECT_EQ(info.instruction_sets, (std::vector<std::string>{"asimd", "asimddp", "bf16", "sve"}));
}

TEST(ParseCpuInfo, KnowsNothingFromNothing) {
  EXPECT_EQ(parse_cpu_info("").model, "unknown CPU");
  EXPECT_TRUE(parse_cpu_info(":::\n\n:").instruction_sets.empty());
}

TEST(MachineProfile, SurvivesSavingAndLoading) {
  const TemporaryFolder folder;
  const auto path = folder / "state/machine.json";
  EXPECT_FALSE(load_machine_profile(path).has_value());
  const MachineProfile profile = sample_profile();
  save_machine_profile(profile, path);
  const MachineProfile loaded = load_machine_profile(path).value();
  EXPECT_EQ(to_json_text(loaded), to_json_text(profile));
  EXPECT_EQ(loaded.bf16_gflops, 7000.5);
  EXPECT_EQ(loaded.int8_gops, 14000.5);
  EXPECT_EQ(loaded.write_gb_per_second, 200.5);
  EXPECT_EQ(loaded.copy_gb_per_second, 230.25);
  EXPECT_TRUE(loaded.is_measured());
  EXPECT_TRUE(loaded.has_instruction_set("avx512_bf16"));
  EXPECT_FALSE(loaded.has_instruction_set("avx"));
  EXPECT_TRUE(is_same_machine(loaded, profile));
}

TEST(MachineProfile, LoadsAFileFromBeforeEverySpeedWasMeasured) {
  Json json = parse_json(to_json_text(sample_profile()), "m");
  for (const char* later : {"int8_gops", "write_gb_per_second", "copy_gb_per_second"}) json["measured"].erase(later);
  const MachineProfile loaded = machine_profile_from_json(dump_json(json), "m");
  EXPECT_EQ(loaded.int8_gops, 0);
  EXPECT_EQ(loaded.copy_gb_per_second, 0);
  EXPECT_EQ(loaded.bf16_gflops, 7000.5);
  EXPECT_EQ(loaded.read_gb_per_second, 215.125);
}

TEST(MachineProfile, UnmeasuredHasNoSpeeds) {
  MachineProfile profile = sample_profile();
  profile.measured_at.clear();
  const MachineProfile loaded = machine_profile_from_json(to_json_text(profile), "m");
  EXPECT_FALSE(loaded.is_measured());
  EXPECT_EQ(loaded.f32_gflops, 0);
}

TEST(MachineProfile, RefusesWrongFieldsByName) {
  const auto message_after = [](const std::string& from, const std::string& to) {
    std::string text = to_json_text(sample_profile());
    text.replace(text.find(from), from.size(), to);
    try {
      machine_profile_from_json(text, "machine.json");
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  EXPECT_EQ(message_after("\"cores\": 16", "\"cores\": 0"), "machine.json: 'cores' is 0, expected at least 1");
  EXPECT_EQ(message_after("3500.25", "-1"), "machine.json: 'f32_gflops' is -1, expected at least 0");
  EXPECT_EQ(message_after("\"model\": \"A CPU\"", "\"mode\": 1"), "machine.json: 'model' is missing");
  EXPECT_EQ(message_after("\"version\": 1", "\"version\": 2"), "machine.json: version 2, this program reads version 1");
  EXPECT_NE(message_after("{", "["), "no error");
}

TEST(MachineProfile, AnotherCpuIsAnotherMachine) {
  MachineProfile other = sample_profile();
  other.num_cores = 8;
  EXPECT_FALSE(is_same_machine(sample_profile(), other));
}

TEST(ReadMachine, IsPlausible) {
  const MachineProfile machine = read_machine();
  EXPECT_FALSE(machine.cpu_model.empty());
  EXPECT_GE(machine.num_logical_cpus, machine.num_cores);
  EXPECT_FALSE(machine.is_measured());
}

TEST(MeasureMachine, GivesPlausibleSpeeds) {
  MeasureSettings settings;
  settings.seconds_per_peak = 0.02;
  settings.buffer_bytes = 8 << 20;
  const MachineProfile machine = measure_machine(settings);
  EXPECT_TRUE(machine.is_measured());
  EXPECT_EQ(machine.measured_threads, num_threads());
  EXPECT_GT(machine.f32_gflops, 0.01);
  EXPECT_LT(machine.f32_gflops, 1000.0 * machine.num_logical_cpus);
  EXPECT_GT(machine.read_gb_per_second, 0.01);
  EXPECT_GT(machine.write_gb_per_second, 0.01);
  EXPECT_GT(machine.copy_gb_per_second, 0.01);
#if defined(__x86_64__)
  EXPECT_EQ(machine.bf16_gflops > 0, __builtin_cpu_supports("avx512bf16") != 0);
#endif
}

}  // namespace
}  // namespace owlet
