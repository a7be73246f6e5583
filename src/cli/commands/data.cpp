// owlet data prepare | stats; the other verbs have files of their own (data_verbs.hpp)
#include <memory>

#include "base/human.hpp"
#include "cli/commands/data_verbs.hpp"
#include "cli/data_view.hpp"
#include "data/prepare.hpp"
#include "data/sources/text_file.hpp"

namespace owlet {

namespace {

struct PrepareArguments {
  std::vector<std::string> files;
  std::string separator = std::string(kDefaultSeparator);
  std::string split = "automatic";
  PrepareOptions options;
  std::string out;
};

int run_prepare(PrepareArguments arguments, Program& program) {
  apply_threads(program);
  Console& console = program.console;
  PrepareOptions& options = arguments.options;
  options.out = arguments.out;
  options.split = arguments.split == "documents" ? SplitKind::documents
                  : arguments.split == "tail"    ? SplitKind::tail
                                                 : SplitKind::automatic;
  options.on_progress = [&](const PrepareProgress& progress) {
    const double share = progress.total_bytes == 0
                             ? 1.0
                             : static_cast<double>(progress.bytes) / static_cast<double>(progress.total_bytes);
    console.progress(fmt::format("tokenising {} {} of {}, {} tokens", progress_bar(share, 24),
                                 format_bytes(progress.bytes), format_bytes(progress.total_bytes),
                                 format_count(static_cast<double>(progress.tokens))));
  };
  const DatasetInfo info =
      prepare_text_files({arguments.files.begin(), arguments.files.end()}, arguments.separator, options);
  print_data_statistics(info, console);
  console.result(fmt::format("Next: owlet pretrain RECIPE --data {} --run RUN", arguments.out));
  OrderedJson document = data_statistics_json(info);
  document["out"] = arguments.out;
  console.json_result(document);
  return 0;
}

void add_prepare(CLI::App& parent, Program& program) {
  CLI::App* command = parent.add_subcommand("prepare", "Tokenise text files into a data folder for training");
  auto arguments = std::make_shared<PrepareArguments>();
  command->add_option("files", arguments->files, "Text files")->required()->type_name("FILE");
  command->add_option("--tokenizer", arguments->options.tokenizer, "Tokenizer folder, or 'bytes'")
      ->required()
      ->type_name("T");
  command->add_option("--out", arguments->out, "Data folder to write")->required()->type_name("DIR");
  command->add_option("--separator", arguments->separator, "Text between documents, or 'blank-lines' or 'none'")
      ->capture_default_str()
      ->type_name("TEXT");
  command
      ->add_option("--validation", arguments->options.validation_share,
                   "Share kept for validation (default: 0.05 of the documents, or the last 0.1 of a single text)")
      ->check(CLI::Range(0.0, 0.99));
  command->add_option("--split", arguments->split, "How train and validation are parted")
      ->check(CLI::IsMember({"automatic", "documents", "tail"}))
      ->capture_default_str();
  command->add_option("--seed", arguments->options.seed, "Chooses which documents validate")->capture_default_str();
  command->add_flag("--force", arguments->options.force, "Replace a data folder that is there");
  add_common_options(*command, program,
                     "  owlet data prepare stories.txt --tokenizer tokenizer --out data\n"
                     "  owlet data prepare shakespeare.txt --tokenizer bytes --out data");
  set_action(*command, program, [arguments, &program] { return run_prepare(*arguments, program); });
}

void add_stats(CLI::App& parent, Program& program) {
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

}  // namespace

void add_data_command(CLI::App& app, Program& program) {
  CLI::App* command = app.add_subcommand("data", "Get data sets, prepare them for training, look at them");
  command->require_subcommand(1);
  add_data_list(*command, program);
  add_data_get(*command, program);
  add_prepare(*command, program);
  add_data_prepare_chat(*command, program);
  add_stats(*command, program);
}

}  // namespace owlet
