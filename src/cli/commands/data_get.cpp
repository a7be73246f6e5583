// owlet data get
#include <algorithm>
#include <memory>

#include "base/human.hpp"
#include "base/stop_signal.hpp"
#include "base/text_table.hpp"
#include "cli/commands/data_verbs.hpp"
#include "data/catalogue/dataset_get.hpp"

namespace owlet {

namespace {

namespace fs = std::filesystem;

constexpr int kBarColumns = 20;
constexpr size_t kMaxRowsShown = 12, kMaxPathsInHint = 3;

struct GetArguments {
  DatasetRequest request;
  std::string out, endpoint;
  bool is_dry_run = false;
  bool force = false;
};

/// "[=====>   ] 1.2 GB of 1.9 GB, 45 MB/s, 16 s left, file 1 of 2".
std::string progress_line(const HubProgress& progress) {
  const bool knows_all = progress.total_bytes > 0;
  const uint64_t bytes = knows_all ? progress.bytes : progress.file_bytes;
  const uint64_t total = knows_all ? progress.total_bytes : progress.file_total_bytes;
  std::string line;
  if (total > 0) {
    line =
        fmt::format("{} {} of {}", progress_bar(static_cast<double>(bytes) / static_cast<double>(total), kBarColumns),
                    format_bytes(bytes), format_bytes(total));
  } else {
    line = format_bytes(bytes);
  }
  if (progress.bytes_per_second > 0) {
    line += fmt::format(", {}/s", format_bytes(static_cast<uint64_t>(progress.bytes_per_second)));
  }
  if (progress.seconds_left >= 0) line += fmt::format(", {} left", format_duration(progress.seconds_left));
  const uint64_t current = std::min(progress.num_files_done + 1, progress.num_files);
  if (progress.num_files > 1) line += fmt::format(", file {} of {}", current, progress.num_files);
  return line;
}

/// Shows how far a download is: a line that changes on a terminal, a line per file elsewhere.
class ProgressView {
 public:
  ProgressView(Console& console, bool is_wanted) : console_(console), is_wanted_(is_wanted) {}
  void show(const HubProgress& progress) {
    if (!is_wanted_) return;
    console_.progress(progress_line(progress));
    if (console_.is_terminal() || progress.num_files_done == num_told_) return;
    num_told_ = progress.num_files_done;
    console_.say("{} of {} files, {}", num_told_, progress.num_files, format_bytes(progress.bytes));
  }

 private:
  Console& console_;
  bool is_wanted_;
  uint64_t num_told_ = 0;
};

/// `word` as one word of a shell.
std::string shell_word(const std::string& word) {
  const bool is_plain = word.find_first_of(" '\"\\$&;()*?[]<>|`!#~") == std::string::npos;
  if (is_plain) return word;
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? "'\\''" : std::string(1, c);
  return text + "'";
}

/// The words for these files: each of a few, else a pattern of the shell that fits them all, else their folder.
std::string file_words(const std::vector<std::string>& paths) {
  std::string words;
  if (paths.size() <= kMaxPathsInHint) {
    for (const std::string& path : paths) words += " " + shell_word(path);
    return words;
  }
  std::string common = paths.front();
  for (const std::string& path : paths) {
    const auto [end, ignored] = std::ranges::mismatch(common, path);
    common.erase(end, common.end());
  }
  return " " + shell_word(common) + "*";
}

/// What to type next with the files for training.
std::string next_command(const DatasetChoice& choice, const std::vector<FetchedFile>& files) {
  std::vector<std::string> paths;
  for (const FetchedFile& file : files) {
    if (file.chosen.split.empty() || file.chosen.split.starts_with("train")) paths.push_back(file.path.string());
  }
  if (paths.empty()) {
    for (const FetchedFile& file : files) paths.push_back(file.path.string());
  }
  const bool is_chat = choice.kind == "instruction" || choice.kind == "chat";
  const bool names_column = !is_chat && choice.format != "txt" && !choice.layout.empty() && choice.layout != "text";
  return fmt::format("owlet data {}{}{} --tokenizer TOKENIZER --out DATA", is_chat ? "prepare-chat" : "prepare",
                     file_words(paths), names_column ? " --column " + shell_word(choice.layout) : "");
}

OrderedJson to_json(const DatasetChoice& choice) {
  return {{"name", choice.name},     {"source", choice.repo},       {"licence", choice.licence},
          {"kind", choice.kind},     {"format", choice.format},     {"layout", choice.layout},
          {"config", choice.config}, {"revision", choice.revision}, {"notes", choice.notes}};
}

int show_plan(const DatasetChoice& choice, const HubSettings& settings, Console& console) {
  const RepoCache cache(settings.cache, choice.repo);
  OrderedJson files = OrderedJson::array();
  TextTable table;
  table.add_column("file");
  table.add_column("split");
  table.add_column("size", TextTable::Align::right);
  uint64_t bytes = 0, missing = 0;
  size_t num_shown = 0;
  for (const ChosenFile& file : choice.files) {
    const bool is_cached = cache.has(cache.read_ref(file.revision).value_or(file.revision), file.path);
    bytes += file.bytes;
    if (!is_cached) missing += file.bytes;
    files.push_back({{"file", file.path}, {"split", file.split}, {"bytes", file.bytes}, {"cached", is_cached}});
    if (num_shown++ < kMaxRowsShown) {
      table.add_row({file.path, file.split, file.bytes > 0 ? format_bytes(file.bytes) : "unknown"});
    }
  }
  std::string text = table.to_string();
  if (!text.empty()) text.pop_back();
  console.result(text);
  if (choice.files.size() > kMaxRowsShown)
    console.result(fmt::format("… and {} more", choice.files.size() - kMaxRowsShown));
  console.result(fmt::format("{} files, {}; {} to download to {}", choice.files.size(), format_bytes(bytes),
                             format_bytes(missing), cache.folder().string()));
  OrderedJson document = to_json(choice);
  document["dry_run"] = true;
  document["files"] = files;
  document["bytes"] = bytes;
  document["bytes_to_download"] = missing;
  document["cache"] = cache.folder().string();
  console.json_result(document);
  return 0;
}

int show_result(const DatasetChoice& choice, const std::vector<FetchedFile>& files, const std::string& out,
                Console& console) {
  OrderedJson entries = OrderedJson::array();
  uint64_t bytes = 0;
  size_t num_cached = 0;
  for (const FetchedFile& file : files) {
    bytes += file.bytes;
    num_cached += file.was_cached ? 1 : 0;
    entries.push_back({{"path", file.path.string()},
                       {"file", file.chosen.path},
                       {"split", file.chosen.split},
                       {"bytes", file.bytes},
                       {"cached", file.was_cached}});
  }
  for (size_t i = 0; i < std::min(files.size(), kMaxRowsShown); ++i) console.result(files[i].path.string());
  if (files.size() > kMaxRowsShown)
    console.result(fmt::format("… and {} more beside them", files.size() - kMaxRowsShown));
  console.result(fmt::format("{}: {} files, {}{}; licence: {}", choice.name, files.size(), format_bytes(bytes),
                             num_cached == files.size() ? ", all of them here already" : "", choice.licence));
  const std::string next = next_command(choice, files);
  console.result("Next: " + next);
  OrderedJson document = to_json(choice);
  document["commit"] = files.front().commit;
  document["files"] = entries;
  document["bytes"] = bytes;
  document["out"] = out;
  document["next"] = next;
  console.json_result(document);
  return 0;
}

int run_get(const GetArguments& arguments, Program& program) {
  Console& console = program.console;
  const HubSettings settings = read_hub_settings(arguments.endpoint);
  const StopSignal stop;
  ProgressView view(console, settings.shows_progress);
  HubHooks hooks;
  hooks.on_message = [&](const std::string& line) { console.message(line); };
  hooks.on_progress = [&](const HubProgress& progress) { view.show(progress); };
  hooks.should_stop = [&] { return stop.is_requested(); };
  HubClient hub(settings, hooks);
  try {
    const DatasetChoice choice = choose_dataset(hub, arguments.request);
    for (const std::string& note : choice.notes) console.warning(note);
    if (arguments.is_dry_run) return show_plan(choice, settings, console);
    std::vector<FetchedFile> files = fetch_dataset(hub, choice);
    if (!arguments.out.empty()) export_dataset(hub, choice, files, arguments.out, arguments.force);
    return show_result(choice, files, arguments.out, console);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::cancelled) throw;
    throw Error(ErrorKind::cancelled, error.what(), "what has come is kept; the same command goes on from there");
  }
}

}  // namespace

void add_data_get(CLI::App& parent, Program& program) {
  CLI::App* command = parent.add_subcommand("get", "Download a data set from the Hugging Face Hub");
  auto arguments = std::make_shared<GetArguments>();
  DatasetRequest& request = arguments->request;
  command->add_option("name", request.name, "A name from `owlet data list`, or org/name on the Hub")
      ->required()
      ->type_name("NAME");
  command->add_option("--config", request.config, "Configuration of an org/name set")->type_name("C");
  command->add_option("--split", request.split, "Only this split (train, validation, …)")->type_name("S");
  command->add_option("--column", request.column, "Column that holds the text")->type_name("NAME");
  command->add_option("--revision", request.revision, "Branch, tag or commit (default: main)")->type_name("R");
  command->add_option("--files", request.patterns, "Only files of the set that fit: 'data/*.parquet' (repeatable)")
      ->type_name("PATTERN");
  command->add_option("--max-files", request.max_files, "At most so many files of each split")
      ->check(CLI::PositiveNumber)
      ->type_name("N");
  command
      ->add_option("--out", arguments->out,
                   "Put the files into this folder too (default: they stay in the Hugging Face cache)")
      ->type_name("DIR");
  command
      ->add_option("--endpoint", arguments->endpoint, "Another Hub (default: HF_ENDPOINT, or https://huggingface.co)")
      ->type_name("URL");
  command->add_flag("--dry-run", arguments->is_dry_run, "Show what would be downloaded, and its size");
  command->add_flag("--force", arguments->force, "Add the files to a folder that is not empty");
  add_common_options(
      *command, program,
      "  owlet data get tiny-stories-v2\n"
      "  owlet data get fineweb-edu-10bt --max-files 1 --out fineweb\n"
      "  owlet data get org/name --config default --split train --dry-run\n"
      "Environment: HF_TOKEN for sets that ask for one, HF_HOME or HF_HUB_CACHE for the place of the cache,\n"
      "HF_ENDPOINT, HF_HUB_OFFLINE=1 to use only what is there.");
  set_action(*command, program, [arguments, &program] { return run_get(*arguments, program); });
}

}  // namespace owlet
