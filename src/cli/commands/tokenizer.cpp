// owlet tokenizer train | import | encode | decode
#include <iostream>
#include <iterator>
#include <memory>

#include "base/error.hpp"
#include "base/human.hpp"
#include "cli/command.hpp"
#include "data/sources/text_file.hpp"
#include "text/bpe_trainer.hpp"
#include "text/pre_tokenizer.hpp"
#include "text/tokenizer.hpp"
#include "text/tokenizer_files.hpp"
#include "text/utf8.hpp"

namespace owlet {

namespace fs = std::filesystem;

namespace {

struct TrainOptions {
  std::vector<std::string> files;
  int32_t vocab_size = 4096;
  int64_t min_frequency = 2;
  std::string out;
  std::string separator = std::string(kDefaultSeparator);
  bool force = false;
};

int run_train(const TrainOptions& options, Program& program) {
  apply_threads(program);
  check(options.force || !fs::exists(fs::path(options.out) / "tokenizer.json"), ErrorKind::invalid_argument,
        "'{}' already holds a tokenizer; --force replaces it", options.out);
  BpeTrainerOptions trainer_options;
  trainer_options.vocab_size = options.vocab_size;
  trainer_options.min_frequency = options.min_frequency;
  trainer_options.on_progress = [&](int32_t done, int32_t target) {
    program.console.progress(
        fmt::format("merging {} {} of {} tokens", progress_bar(static_cast<double>(done) / target, 24), done, target));
  };
  BpeTrainer trainer(trainer_options);
  TextFileSource source({options.files.begin(), options.files.end()}, options.separator);
  std::string document;
  uint64_t bytes = 0;
  while (source.next(document)) {
    trainer.add_document(document);
    bytes += document.size();
    if (source.num_documents() % 512 == 0) program.console.progress(fmt::format("reading: {}", format_bytes(bytes)));
  }
  document = std::string();  // as long as the longest text
  const BpeTrainingResult result = trainer.train();
  for (const std::string& note : result.notes) program.console.message(note);
  const Tokenizer tokenizer(result.definition);
  tokenizer.save(options.out);
  program.console.result(fmt::format("Tokenizer with {} tokens from {} documents ({}) saved in {}",
                                     tokenizer.vocab_size(), result.num_documents,
                                     format_bytes(static_cast<uint64_t>(result.num_bytes)), options.out));
  program.console.result(
      fmt::format("Next: owlet data prepare {} --tokenizer {} --out DATA", options.files[0], options.out));
  program.console.json_result({{"out", options.out},
                               {"vocab_size", tokenizer.vocab_size()},
                               {"documents", result.num_documents},
                               {"bytes", result.num_bytes},
                               {"distinct_words", result.num_distinct_words},
                               {"stopped_early", result.stopped_early},
                               {"notes", result.notes}});
  return 0;
}

struct ImportOptions {
  std::string path;
  std::string out;
  TiktokenOptions tiktoken;
  bool force = false;
};

int run_import(const ImportOptions& options, Program& program) {
  check(options.force || !fs::exists(fs::path(options.out) / "tokenizer.json"), ErrorKind::invalid_argument,
        "'{}' already holds a tokenizer; --force replaces it", options.out);
  const Tokenizer tokenizer = import_tokenizer(options.path, options.tiktoken);
  tokenizer.save(options.out);
  const std::optional<int32_t> end = tokenizer.end_of_text_id();
  if (!end) {
    program.console.message(
        "The tokenizer has no token that parts documents: data prepare will refuse it. Give one with --special, or add "
        "one to the added_tokens of its tokenizer.json.");
  }
  program.console.result(fmt::format("Tokenizer with {} tokens (splitter {}) saved in {}", tokenizer.vocab_size(),
                                     tokenizer.definition().splitter, options.out));
  program.console.result(fmt::format("Next: owlet data prepare FILES --tokenizer {} --out DATA", options.out));
  Json result = {{"out", options.out},
                 {"vocab_size", tokenizer.vocab_size()},
                 {"splitter", tokenizer.definition().splitter},
                 {"special_tokens", tokenizer.added_tokens().size()}};
  if (end) result["end_of_text_id"] = *end;
  program.console.json_result(result);
  return 0;
}

struct EncodeOptions {
  std::string tokenizer;
  std::string text;
  bool parses_special = false;
};

int run_encode(const EncodeOptions& options, Program& program) {
  const Tokenizer tokenizer = load_tokenizer(options.tokenizer);
  std::string text = options.text;
  if (text == "-") text.assign(std::istreambuf_iterator<char>(std::cin), {});
  const std::vector<int32_t> ids = tokenizer.encode(text, options.parses_special);
  program.console.result(fmt::format("{}", fmt::join(ids, " ")));
  program.console.json_result({{"ids", ids}, {"tokens", ids.size()}, {"bytes", text.size()}});
  return 0;
}

struct DecodeOptions {
  std::string tokenizer;
  std::vector<int32_t> ids;
  bool shows_special = false;
};

int run_decode(const DecodeOptions& options, Program& program) {
  const Tokenizer tokenizer = load_tokenizer(options.tokenizer);
  for (int32_t id : options.ids) {
    check(id >= 0 && id < tokenizer.vocab_size(), ErrorKind::invalid_argument,
          "id {} is outside the vocabulary (0 to {})", id, tokenizer.vocab_size() - 1);
  }
  const std::string text = replace_invalid_utf8(tokenizer.decode(options.ids, !options.shows_special));
  program.console.result(text);
  program.console.json_result({{"text", text}});
  return 0;
}

void add_train(CLI::App& parent, Program& program) {
  CLI::App* command = parent.add_subcommand("train", "Learn a byte-level BPE vocabulary from text files");
  auto options = std::make_shared<TrainOptions>();
  command->add_option("files", options->files, "Text files")->required()->type_name("FILE");
  command->add_option("--vocab", options->vocab_size, "Tokens wanted, 256 bytes and end-of-text included")
      ->capture_default_str()
      ->type_name("N");
  command->add_option("--min-frequency", options->min_frequency, "Merge only pairs that occur this often")
      ->capture_default_str();
  command->add_option("--out", options->out, "Folder to write")->required()->type_name("DIR");
  command->add_option("--separator", options->separator, "Text between documents, or 'blank-lines' or 'none'")
      ->capture_default_str();
  command->add_flag("--force", options->force, "Replace a tokenizer that is there");
  add_common_options(*command, program, "  owlet tokenizer train stories.txt --vocab 4096 --out tokenizer");
  set_action(*command, program, [options, &program] { return run_train(*options, program); });
}

void add_import(CLI::App& parent, Program& program) {
  CLI::App* command = parent.add_subcommand("import", "Bring in a tokenizer that another program made");
  auto options = std::make_shared<ImportOptions>();
  command
      ->add_option("path", options->path,
                   "tokenizer.json, vocab.json or merges.txt (encoder.json or vocab.bpe), a file of tiktoken ranks, or "
                   "the folder of one")
      ->required()
      ->type_name("PATH");
  command->add_option("--out", options->out, "Folder to write")->required()->type_name("DIR");
  command
      ->add_option("--splitter", options->tiktoken.splitter,
                   "Of tiktoken ranks: how text is split into words (default: that of the known vocabulary)")
      ->check(CLI::IsMember(pre_tokenizer_names()));
  command
      ->add_option("--special", options->tiktoken.special_tokens,
                   "Of tiktoken ranks: a control token, behind all others; may be repeated")
      ->type_name("TOKEN")
      ->take_all()
      ->expected(1, -1)
      ->allow_extra_args(false);
  command->add_flag("--force", options->force, "Replace a tokenizer that is there");
  add_common_options(*command, program,
                     "  owlet tokenizer import cl100k_base.tiktoken --out tokenizer\n"
                     "  owlet tokenizer import Llama-3.2-1B/original/tokenizer.model --out tokenizer\n"
                     "  owlet tokenizer import gpt2/vocab.json --out tokenizer");
  set_action(*command, program, [options, &program] { return run_import(*options, program); });
}

void add_encode(CLI::App& parent, Program& program) {
  CLI::App* command = parent.add_subcommand("encode", "Turn text into token ids");
  auto options = std::make_shared<EncodeOptions>();
  options->text = "-";
  command->add_option("text", options->text, "The text; '-' or nothing reads stdin")->type_name("TEXT");
  command->add_option("--tokenizer", options->tokenizer, "Tokenizer folder, or 'bytes'")->required()->type_name("DIR");
  command->add_flag("--special", options->parses_special, "Read control tokens such as <|endoftext|> as such");
  add_common_options(*command, program, "  owlet tokenizer encode --tokenizer bytes \"Hi\" --json");
  set_action(*command, program, [options, &program] { return run_encode(*options, program); });
}

void add_decode(CLI::App& parent, Program& program) {
  CLI::App* command = parent.add_subcommand("decode", "Turn token ids back into text");
  auto options = std::make_shared<DecodeOptions>();
  command->add_option("ids", options->ids, "Token ids")->required()->type_name("ID");
  command->add_option("--tokenizer", options->tokenizer, "Tokenizer folder, or 'bytes'")->required()->type_name("DIR");
  command->add_flag("--special", options->shows_special, "Show control tokens");
  add_common_options(*command, program, "  owlet tokenizer decode --tokenizer bytes 72 105");
  set_action(*command, program, [options, &program] { return run_decode(*options, program); });
}

}  // namespace

void add_tokenizer_command(CLI::App& app, Program& program) {
  CLI::App* command = app.add_subcommand("tokenizer", "Train, import and try tokenizers");
  command->require_subcommand(1);
  add_train(*command, program);
  add_import(*command, program);
  add_encode(*command, program);
  add_decode(*command, program);
}

}  // namespace owlet
