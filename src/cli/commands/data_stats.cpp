// owlet data stats
#include <memory>

#include "cli/command.hpp"
#include "cli/commands/data_verbs.hpp"
#include "cli/data_view.hpp"

namespace owlet {

void add_data_stats(CLI::App& parent, Program& program) {
  CLI::App* command = parent.add_subcommand("stats", "Show what a data folder holds");
  auto folder = std::make_shared<std::string>();
  auto verifies = std::make_shared<bool>(false);
  command->add_option("folder", *folder, "Data folder")->required()->type_name("DIR");
  command->add_flag("--verify", *verifies, "Read everything and check the checksums");
  add_common_options(*command, program, "  owlet data stats data --json");
  set_action(*command, program, [folder, verifies, &program] {
    const Dataset dataset = load_dataset(*folder);
    if (*verifies) dataset.verify();
    print_data_statistics(dataset.info(), program.console);
    program.console.json_result(data_statistics_json(dataset.info()));
    return 0;
  });
}

}  // namespace owlet
