// owlet data prepare
#include <algorithm>
#include <chrono>
#include <memory>

#include "base/error.hpp"
#include "base/human.hpp"
#include "base/log.hpp"
#include "base/stop_signal.hpp"
#include "cli/command.hpp"
#include "cli/commands/data_verbs.hpp"
#include "cli/data_view.hpp"
#include "data/prepare.hpp"

namespace owlet {
namespace {

struct PrepareArguments {
  std::vector<std::string> files;
  std::string split = "automatic";
  PrepareOptions options;
  std::string out;
};

/// The line at the bottom of the terminal: share of the files read, speed, time left.
class PrepareProgressLine {
 public:
  explicit PrepareProgressLine(Console& console) : console_(console) {}

  void show(const PrepareProgress& progress) {
    const auto now = std::chrono::steady_clock::now();
    if (!has_begun_) {
      has_begun_ = true;
      started_at_ = now;
      bytes_before_ = progress.bytes;
    }
    if (now - shown_at_ < std::chrono::milliseconds(100)) return;
    shown_at_ = now;
    const double seconds = std::chrono::duration<double>(now - started_at_).count();
    const double speed = seconds > 0 ? static_cast<double>(progress.bytes - bytes_before_) / seconds : 0;
    const double left = static_cast<double>(progress.total_bytes - std::min(progress.bytes, progress.total_bytes));
    const double share = progress.total_bytes == 0 ? 1.0 : 1 - left / static_cast<double>(progress.total_bytes);
    console_.progress(fmt::format(
        "tokenising {} {} of {}, {} tokens, {}/s, {} left", progress_bar(share, 24), format_bytes(progress.bytes),
        format_bytes(progress.total_bytes), format_count(static_cast<double>(progress.tokens)),
        format_bytes(static_cast<uint64_t>(speed)), format_duration(speed > 0 ? left / speed : -1)));
  }

 private:
  Console& console_;
  bool has_begun_ = false;
  uint64_t bytes_before_ = 0;
  std::chrono::steady_clock::time_point started_at_, shown_at_;
};

/// What the library has to say while it works, as remarks.
class LogToConsole {
 public:
  explicit LogToConsole(Console& console)
      : sink_(add_log_sink([&console](LogLevel level, std::string_view text) {
          if (level == LogLevel::warning) console.warning(text);
          if (level == LogLevel::info) console.message(text);
        })) {}
  ~LogToConsole() { remove_log_sink(sink_); }
  LogToConsole(const LogToConsole&) = delete;
  LogToConsole& operator=(const LogToConsole&) = delete;

 private:
  int sink_;
};

int run_prepare(PrepareArguments arguments, Program& program) {
  apply_threads(program);
  Console& console = program.console;
  PrepareOptions& options = arguments.options;
  options.out = arguments.out;
  options.split = arguments.split == "documents" ? SplitKind::documents
                  : arguments.split == "tail"    ? SplitKind::tail
                                                 : SplitKind::automatic;
  const LogToConsole log(console);
  const StopSignal stop;
  PrepareProgressLine line(console);
  options.on_progress = [&](const PrepareProgress& progress) {
    line.show(progress);
    if (stop.is_requested()) {
      throw Error(ErrorKind::cancelled,
                  fmt::format("stopped after {} documents; what is done is kept beside '{}'", progress.documents,
                              arguments.out),
                  "the same command goes on from there");
    }
  };
  const DatasetInfo info = prepare_files({arguments.files.begin(), arguments.files.end()}, options);
  console.clear_progress();
  print_data_statistics(info, console);
  console.result(fmt::format("Next: owlet pretrain RECIPE --data {} --run RUN", arguments.out));
  OrderedJson document = data_statistics_json(info);
  document["out"] = arguments.out;
  console.json_result(document);
  return 0;
}

void add_source_options(CLI::App& command, PrepareOptions& options) {
  command
      .add_option("--separator", options.documents.separator,
                  "Text between the documents of a text file, or 'blank-lines' or 'none'")
      ->capture_default_str()
      ->type_name("TEXT");
  command.add_option("--column", options.documents.column, "Column with the text of jsonl, json and parquet files")
      ->capture_default_str()
      ->type_name("NAME");
  command.add_flag("--skip-bad", options.documents.skips_bad_records,
                   "Pass over rows that cannot be read, count them and name the first");
  command.add_flag("--drop-duplicates", options.drops_duplicates,
                   "Keep only the first of documents that are equal byte for byte");
}

}  // namespace

void add_data_prepare(CLI::App& parent, Program& program) {
  CLI::App* command = parent.add_subcommand("prepare", "Tokenise files and folders into a data folder for training");
  auto arguments = std::make_shared<PrepareArguments>();
  PrepareOptions& options = arguments->options;
  command
      ->add_option("files", arguments->files,
                   "Text (.txt, .md), rows (.jsonl, .json, .parquet), packed as .gz or .zst or not, or folders of them")
      ->required()
      ->type_name("FILE|DIR");
  command->add_option("--tokenizer", options.tokenizer, "Tokenizer folder, or 'bytes'")->required()->type_name("T");
  command->add_option("--out", arguments->out, "Data folder to write")->required()->type_name("DIR");
  add_source_options(*command, options);
  command
      ->add_option("--validation", options.validation_share,
                   "Share kept for validation (default: 0.05 of the documents, or the last 0.1 of a single text)")
      ->check(CLI::Range(0.0, 0.99));
  command->add_option("--split", arguments->split, "How train and validation are parted")
      ->check(CLI::IsMember({"automatic", "documents", "tail"}))
      ->capture_default_str();
  command->add_option("--seed", options.seed, "Chooses which documents validate")->capture_default_str();
  command
      ->add_option("--memory", options.memory_bytes,
                   "What the work may use, for example 512MB (default: a quarter of this machine's, at most 4.3 GB)")
      ->transform(CLI::AsSizeValue(true))
      ->type_name("SIZE");
  command->add_option("--keep", options.keep_seconds, "Seconds between places from which interrupted work goes on")
      ->check(CLI::Range(0.0, 86400.0))
      ->capture_default_str()
      ->type_name("SECONDS");
  command->add_flag("--force", options.force, "Replace a data folder that is there");
  command->add_flag("--restart", options.restarts, "Throw an unfinished preparation away instead of going on with it");
  add_common_options(*command, program,
                     "  owlet data prepare stories.txt --tokenizer tokenizer --out data\n"
                     "  owlet data prepare books/ news.jsonl.zst --tokenizer tokenizer --out data --drop-duplicates\n"
                     "  owlet data prepare shakespeare.txt --tokenizer bytes --out data\n"
                     "Interrupted, the same command goes on where it stood and gives the same bytes.");
  set_action(*command, program, [arguments, &program] { return run_prepare(*arguments, program); });
}

}  // namespace owlet
