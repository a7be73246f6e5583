// owlet data prepare | stats; the other verbs have files of their own (data_verbs.hpp)
#include <memory>

#include "base/human.hpp"
#include "base/text_table.hpp"
#include "cli/commands/data_verbs.hpp"
#include "data/prepare.hpp"
#include "data/sources/text_file.hpp"

namespace owlet {

namespace {

OrderedJson to_json(const DatasetInfo& info) {
  OrderedJson percentiles = OrderedJson::object(), fits = OrderedJson::object();
  for (const auto& [percent, tokens] : info.length_percentiles) percentiles[std::to_string(percent)] = tokens;
  for (const auto& [context, share] : info.fits) fits[std::to_string(context)] = share;
  const auto side = [](const SplitInfo& split) {
    return OrderedJson{{"documents", split.documents}, {"tokens", split.tokens}, {"bytes", split.bytes}};
  };
  return {{"documents", info.documents},
          {"empty", info.empty},
          {"skipped", info.skipped},
          {"tokens", info.tokens},
          {"bytes", info.bytes},
          {"bytes_per_token", info.bytes_per_token},
          {"vocab_size", info.vocab_size},
          {"length_percentiles", percentiles},
          {"fits", fits},
          {"split", info.split},
          {"train", side(info.train)},
          {"validation", side(info.validation)}};
}

void print_statistics(const DatasetInfo& info, Console& console) {
  TextTable table;
  table.add_column("");
  for (const char* header : {"documents", "tokens", "bytes"}) table.add_column(header, TextTable::Align::right);
  const auto add = [&](const std::string& name, uint64_t documents, uint64_t tokens, uint64_t bytes) {
    table.add_row({name, std::to_string(documents), format_count(static_cast<double>(tokens)), format_bytes(bytes)});
  };
  add("train", info.train.documents, info.train.tokens, info.train.bytes);
  add("validation", info.validation.documents, info.validation.tokens, info.validation.bytes);
  add("together", info.documents, info.tokens, info.bytes);
  std::string text = table.to_string();
  if (!text.empty()) text.pop_back();
  console.result(text);
  console.result(fmt::format("{:.2f} bytes per token; {} empty documents left out, {} skipped; split by {}",
                             info.bytes_per_token, info.empty, info.skipped, info.split));
  std::string lengths = "document length in tokens:";
  for (const auto& [percent, tokens] : info.length_percentiles) {
    lengths += percent == 100 ? fmt::format("  longest {}", tokens) : fmt::format("  {} % up to {}", percent, tokens);
  }
  console.result(lengths);
  std::string fits = "share that fits a context of:";
  for (const auto& [context, share] : info.fits) fits += fmt::format("  {}: {:.0f} %", context, share * 100);
  console.result(fits);
}

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
  print_statistics(info, console);
  console.result(fmt::format("Next: owlet pretrain RECIPE --data {} --run RUN", arguments.out));
  OrderedJson document = to_json(info);
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
    print_statistics(dataset.info(), program.console);
    program.console.json_result(to_json(dataset.info()));
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
  add_stats(*command, program);
}

}  // namespace owlet
