// owlet pretrain: train a model from scratch, or show what that would need.
#include <memory>

#include "base/error.hpp"
#include "cli/command.hpp"
#include "cli/machine_peaks.hpp"
#include "cli/plan_view.hpp"
#include "cli/program_backend.hpp"
#include "cli/recipe_folders.hpp"
#include "cli/training_view.hpp"
#include "data/batch_stream.hpp"
#include "data/dataset.hpp"

namespace owlet {

namespace {

/// Horizon of a dry run that has no data to count epochs in.
constexpr int64_t kStepsWithoutData = 1000;

struct PretrainArguments {
  std::string recipe, data, run;
  std::vector<std::string> overrides;
  bool dry_run = false;
  bool force = false;
  int64_t vocab_size = 0;
};

/// The plan for what is asked; the vocabulary comes from the data or, without any, from --vocab or the recipe.
TrainingPlan make_plan(const PretrainArguments& arguments, const Recipe& recipe, const MachineProfile& machine) {
  PlanInputs inputs;
  if (machine.is_measured()) inputs.machine = machine;
  int64_t vocab_size = arguments.vocab_size > 0 ? arguments.vocab_size : recipe.model.vocab;
  if (!arguments.data.empty()) {
    const Dataset dataset = load_dataset(arguments.data);
    vocab_size = dataset.info().vocab_size;
    inputs.train_tokens = tokens_per_epoch(dataset, recipe.model.context);
  }
  if (vocab_size <= 0) {
    throw Error(ErrorKind::invalid_argument, "the vocabulary is unknown: give --data DIR",
                "for a dry run --vocab N is enough");
  }
  return plan_training(recipe, vocab_size, inputs);
}

int run_pretrain(const PretrainArguments& arguments, Program& program) {
  Console& console = program.console;
  Recipe recipe = load_recipe(find_recipe(arguments.recipe, recipe_folders()), arguments.overrides);
  if (arguments.dry_run) {
    apply_threads(program);
    if (arguments.data.empty() && recipe.horizon.epochs > 0) {
      recipe.horizon = {.steps = kStepsWithoutData};
      console.say("without --data an epoch has no length: counted for {} steps", kStepsWithoutData);
    }
    show_plan(make_plan(arguments, recipe, known_machine()), console);
    return 0;
  }
  check(!arguments.data.empty(), ErrorKind::invalid_argument,
        "pretrain needs --data DIR (made by `owlet data prepare`)");
  check(!arguments.run.empty(), ErrorKind::invalid_argument, "pretrain needs --run DIR, the folder for the new run");
  apply_threads(program);
  const MachineProfile machine = measured_machine(console);
  const TrainingPlan plan = make_plan(arguments, recipe, machine);
  check_fits(plan, recipe, machine.memory_available_bytes);
  const auto backend = make_backend(program);
  TrainingSession session;
  session.backend = backend.get();
  session.run_folder = arguments.run;
  session.recipe = recipe;
  session.data_folder = arguments.data;
  session.force = arguments.force;
  TrainingView view(console, machine);
  view.connect(session);
  return view.finish(run_training(session), arguments.run);
}

}  // namespace

void add_pretrain_command(CLI::App& app, Program& program) {
  CLI::App* command = app.add_subcommand("pretrain", "Train a model from scratch");
  auto arguments = std::make_shared<PretrainArguments>();
  command->add_option("recipe", arguments->recipe, "Recipe file, or the name of one that comes with Owlet")
      ->required()
      ->type_name("RECIPE");
  command->add_option("--data", arguments->data, "Data folder made by `owlet data prepare`")->type_name("DIR");
  command->add_option("--run", arguments->run, "Folder for the new run")->type_name("DIR");
  command->add_option("--set", arguments->overrides, "Change one setting of the recipe; may be repeated")
      ->type_name("KEY=VALUE")
      ->take_all()
      ->expected(1, -1)
      ->allow_extra_args(false);
  command->add_flag("--dry-run", arguments->dry_run, "Show memory, work and time without training");
  command->add_option("--vocab", arguments->vocab_size, "Vocabulary for a dry run without data")->type_name("N");
  command->add_flag("--force", arguments->force, "Replace a run that is there");
  add_common_options(
      *command, program,
      "  owlet pretrain stories-3m --data data --run runs/stories\n"
      "  owlet pretrain stories-3m --data data --dry-run\n"
      "  owlet pretrain my.toml --data data --run runs/a --set horizon.steps=4000 --set model.width=256");
  set_action(*command, program, [arguments, &program] { return run_pretrain(*arguments, program); });
}

}  // namespace owlet
