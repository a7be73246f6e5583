// owlet machine: what this computer is and how fast.
#include <memory>

#include "base/human.hpp"
#include "cli/command.hpp"
#include "cli/machine_peaks.hpp"

namespace owlet {

namespace {

int show_machine(bool measures, Program& program) {
  apply_threads(program);
  const MachineProfile machine = measures ? measure_and_save(program.console) : known_machine();
  Console& console = program.console;
  console.result(fmt::format("{}: {} cores, {} memory ({} free)", machine.cpu_model, machine.num_cores,
                             format_bytes(machine.memory_total_bytes), format_bytes(machine.memory_available_bytes)));
  if (machine.is_measured()) {
    console.result(fmt::format(
        "peaks on {} threads: f32 {:.0f} GFLOP/s, bf16 {:.0f} GFLOP/s, int8 {:.0f} GOP/s; memory: reading "
        "{:.1f} GB/s, writing {:.1f}, both at once {:.1f} (measured {})",
        machine.measured_threads, machine.f32_gflops, machine.bf16_gflops, machine.int8_gops,
        machine.read_gb_per_second, machine.write_gb_per_second, machine.copy_gb_per_second, machine.measured_at));
  } else {
    console.result("Not measured yet: owlet machine measure");
  }
  if (console.json) console.json_result(OrderedJson::parse(to_json_text(machine)));
  return 0;
}

}  // namespace

void add_machine_command(CLI::App& app, Program& program) {
  CLI::App* command = app.add_subcommand("machine", "Show this computer and measure its speeds");
  command->require_subcommand(1);
  CLI::App* show = command->add_subcommand("show", "Print what is known of this computer");
  add_common_options(*show, program, "  owlet machine show");
  set_action(*show, program, [&program] { return show_machine(false, program); });
  CLI::App* measure = command->add_subcommand("measure", "Measure peak speeds in a few seconds and keep them");
  add_common_options(*measure, program, "  owlet machine measure --json");
  set_action(*measure, program, [&program] { return show_machine(true, program); });
}

}  // namespace owlet
