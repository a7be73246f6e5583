// owlet resume: continue a run from its newest checkpoint.
#include <memory>

#include "cli/command.hpp"
#include "cli/machine_peaks.hpp"
#include "cli/program_backend.hpp"
#include "cli/training_view.hpp"
#include "train/run_folder.hpp"

namespace owlet {

namespace {

struct ResumeArguments {
  std::string run, data;
  std::vector<std::string> overrides;
};

int run_resume(const ResumeArguments& arguments, Program& program) {
  apply_threads(program);
  const MachineProfile machine = measured_machine(program.console);
  TrainingSession session;
  session.run_folder = arguments.run;
  session.data_folder = arguments.data;
  session.overrides = arguments.overrides;
  {
    const RunFolder run = RunFolder::open(arguments.run);
    session.recipe = run.recipe();
  }
  const auto backend = make_backend(program);
  session.backend = backend.get();
  TrainingView view(program.console, machine);
  view.connect(session);
  return view.finish(resume_training(session), arguments.run);
}

}  // namespace

void add_resume_command(CLI::App& app, Program& program) {
  CLI::App* command = app.add_subcommand("resume", "Continue a run from its newest checkpoint");
  auto arguments = std::make_shared<ResumeArguments>();
  command->add_option("run", arguments->run, "Run folder")->required()->type_name("RUN");
  command->add_option("--data", arguments->data, "Data folder, if it has moved")->type_name("DIR");
  command->add_option("--set", arguments->overrides, "Change a setting for the rest of the run, such as horizon.steps")
      ->type_name("KEY=VALUE")
      ->take_all()
      ->expected(1, -1)
      ->allow_extra_args(false);
  add_common_options(*command, program,
                     "  owlet resume runs/stories\n  owlet resume runs/stories --set horizon.steps=8000");
  set_action(*command, program, [arguments, &program] { return run_resume(*arguments, program); });
}

}  // namespace owlet
