// owlet data: its verbs are in the files data_*.cpp beside this one.
#include "cli/commands/data_verbs.hpp"

namespace owlet {

void add_data_command(CLI::App& app, Program& program) {
  CLI::App* command = app.add_subcommand("data", "Get data sets, prepare them for training, look at them");
  command->require_subcommand(1);
  add_data_list(*command, program);
  add_data_get(*command, program);
  add_data_prepare(*command, program);
  add_data_prepare_chat(*command, program);
  add_data_stats(*command, program);
  add_data_show(*command, program);
}

}  // namespace owlet
