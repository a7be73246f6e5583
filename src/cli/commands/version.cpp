// owlet version
#include "cli/command.hpp"

namespace owlet {

void add_version_command(CLI::App& app, Program& program) {
  CLI::App* command = app.add_subcommand("version", "Print the program's version");
  add_common_options(*command, program, "  owlet version --json");
  set_action(*command, program, [&program] {
    program.console.result(fmt::format("owlet {}", OWLET_VERSION));
    program.console.json_result({{"version", OWLET_VERSION}});
    return 0;
  });
}

}  // namespace owlet
