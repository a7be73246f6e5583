// owlet data prepare-chat
#include <memory>

#include "base/human.hpp"
#include "cli/commands/data_verbs.hpp"
#include "cli/data_view.hpp"
#include "data/instruction/instruction_format.hpp"
#include "data/instruction/instruction_rows.hpp"
#include "data/prepare_chat.hpp"
#include "text/chat_template.hpp"

namespace owlet {

namespace {

struct PrepareChatArguments {
  std::vector<std::string> files;
  std::string out, chat_jsonl, too_long = "error";
  PrepareChatOptions options;
};

int run_prepare_chat(PrepareChatArguments arguments, Program& program) {
  apply_threads(program);
  Console& console = program.console;
  PrepareChatOptions& options = arguments.options;
  options.out = arguments.out;
  options.chat_jsonl = arguments.chat_jsonl;
  options.too_long = too_long_from(arguments.too_long);
  options.on_progress = [&](const PrepareChatProgress& progress) {
    const double share =
        static_cast<double>(progress.bytes) / static_cast<double>(std::max<uint64_t>(1, progress.total_bytes));
    console.progress(fmt::format("tokenising {} {} conversations, {} tokens", progress_bar(std::min(1.0, share), 24),
                                 progress.conversations, format_count(static_cast<double>(progress.tokens))));
  };
  const PrepareChatResult result =
      prepare_chat(open_instruction_rows({arguments.files.begin(), arguments.files.end()}), options);
  const DatasetInfo& info = result.info;
  if (result.replaces_template) {
    console.warning(fmt::format("the tokenizer's own chat template is replaced by '{}'", info.chat->chat_template));
  }
  print_data_statistics(info, console);
  if (!result.new_tokens.empty()) {
    console.result(fmt::format("The tokenizer in {}/tokenizer got {} new tokens ({}): {} ids now", arguments.out,
                               result.new_tokens.size(), fmt::join(result.new_tokens, " "), info.vocab_size));
  }
  if (!arguments.chat_jsonl.empty()) console.result(fmt::format("Conversations written to {}", arguments.chat_jsonl));
  console.result(fmt::format("Next: owlet pretrain RECIPE --data {} --run RUN", arguments.out));
  OrderedJson document = data_statistics_json(info);
  document["new_tokens"] = result.new_tokens;
  document["vocab_size"] = info.vocab_size;
  document["out"] = arguments.out;
  if (!arguments.chat_jsonl.empty()) document["chat_jsonl"] = arguments.chat_jsonl;
  console.json_result(document);
  return 0;
}

/// The lists of formats and templates, for the end of the help.
std::string help_lists() {
  std::string text = "Formats:\n";
  for (const InstructionFormat* format : instruction_formats()) {
    text += fmt::format("  {:<22}{}\n", format->name, format->fields);
  }
  text += "Chat templates:\n";
  for (const ChatTemplate* chat_template : chat_templates()) {
    text += fmt::format("  {:<22}{}\n", chat_template->name, chat_template->description);
  }
  return text;
}

}  // namespace

void add_data_prepare_chat(CLI::App& data, Program& program) {
  CLI::App* command = data.add_subcommand(
      "prepare-chat", "Tokenise an instruction set: conversations of which the answers are trained");
  auto arguments = std::make_shared<PrepareChatArguments>();
  PrepareChatOptions& options = arguments->options;
  command->add_option("files", arguments->files, "Files and folders of the set")->required()->type_name("FILE");
  command->add_option("--tokenizer", options.tokenizer, "Tokenizer folder, or 'bytes'")->required()->type_name("T");
  command->add_option("--out", arguments->out, "Data folder to write")->required()->type_name("DIR");
  command->add_option("--format", options.format, "What the rows look like (auto: from their fields)")
      ->capture_default_str()
      ->type_name("F");
  command
      ->add_option("--template", options.chat_template,
                   "How conversations are written (auto: the tokenizer's own, otherwise chatml)")
      ->capture_default_str()
      ->type_name("NAME");
  command->add_option("--context", options.context, "Tokens a conversation may have (default: any number)")
      ->type_name("N");
  command
      ->add_option("--too-long", arguments->too_long, "Longer ones: error; drop; cut the end; split between questions")
      ->check(CLI::IsMember({"error", "drop", "cut", "split"}))
      ->capture_default_str();
  command->add_option("--chat-jsonl", arguments->chat_jsonl, "Also write the conversations to this file, one a line")
      ->type_name("FILE");
  command->add_option("--validation", options.validation_share, "Share kept for validation (default: 0.05)")
      ->check(CLI::Range(0.0, 0.99));
  command->add_option("--seed", options.seed, "Chooses which conversations validate, and phrasings")
      ->capture_default_str();
  command->add_flag("--force", options.force, "Replace a data folder and a file that are there");
  add_common_options(*command, program,
                     "  owlet data prepare-chat alpaca.json --tokenizer run/tokenizer --out chat\n"
                     "  owlet data prepare-chat TinyStories-Instruct.txt --tokenizer T --out chat --context 512 "
                     "--too-long drop\n" +
                         help_lists());
  set_action(*command, program, [arguments, &program] { return run_prepare_chat(*arguments, program); });
}

}  // namespace owlet
