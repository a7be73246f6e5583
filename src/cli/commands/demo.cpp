// owlet demo: raises a small model from nothing, offline, in about three minutes on two cores.
#include <chrono>
#include <memory>

#include "base/error.hpp"
#include "base/human.hpp"
#include "cli/command.hpp"
#include "cli/machine_peaks.hpp"
#include "cli/program_backend.hpp"
#include "cli/training_view.hpp"
#include "data/prepare.hpp"
#include "data/sources/text_file.hpp"
#include "data/story_generator.hpp"
#include "infer/loaded_model.hpp"
#include "infer/text_generator.hpp"
#include "models/decoder/decoder.hpp"
#include "text/bpe_trainer.hpp"

namespace owlet {

namespace fs = std::filesystem;

namespace {

constexpr uint64_t kStorySeed = 2026;
constexpr uint64_t kNumStories = 20000;
constexpr int32_t kVocabSize = 1024;
constexpr int64_t kSampleTokens = 170;

/// The demo's recipe: a Llama-type model small enough for minutes, with a context that holds a whole story.
constexpr std::string_view kRecipe = R"(
description = "The model that `owlet demo` raises"
seed = 1
[model]
family = "llama"
width = 256
layers = 4
heads = 4
kv_heads = 2
context = 192
[data]
batch = 32
[optimizer]
learning_rate = 2.5e-3
weight_decay = 0.1
[schedule]
kind = "wsd"
warmup_steps = 60
min_lr_ratio = 0.02
decay_fraction = 0.4
[horizon]
steps = 900
[evaluation]
every = 100
batches = 20
[checkpoint]
every = 250
[log]
every = 5
)";

struct DemoArguments {
  std::string out;
  bool force = false;
  std::vector<std::string> overrides;
};

/// The folder asked for, or the first of owlet-demo, owlet-demo-2, … that is free.
fs::path demo_folder(const DemoArguments& arguments) {
  if (!arguments.out.empty()) {
    check(arguments.force || !fs::exists(arguments.out), ErrorKind::invalid_argument,
          "'{}' exists already; --force replaces the demo in it", arguments.out);
    return arguments.out;
  }
  fs::path folder = "owlet-demo";
  for (int n = 2; fs::exists(folder); ++n) folder = fmt::format("owlet-demo-{}", n);
  return folder;
}

/// The demo from its first file to its last word. Steps are member functions in the order they run.
class Demo {
 public:
  Demo(fs::path folder, const DemoArguments& arguments, Program& program)
      : folder_(std::move(folder)),
        arguments_(arguments),
        program_(program),
        console_(program.console),
        recipe_(parse_recipe(kRecipe, "the demo's recipe", arguments.overrides)) {}

  int run() {
    const auto start = std::chrono::steady_clock::now();
    apply_threads(program_);
    fs::create_directories(folder_);
    write_stories();
    train_tokenizer();
    prepare_data();
    backend_ = make_backend(program_);
    const std::string prompt = story_prompts().front();
    const std::string before = sample_untrained(prompt);
    TrainingResult result = train();
    if (result.is_interrupted) return view_->finish(result, folder_ / "run");
    const std::string after = sample_trained(prompt);
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    report(prompt, before, after, result, seconds);
    return 0;
  }

 private:
  void stage(int number, const std::string& text) {
    console_.message(fmt::format("{} {}", console_.bold(fmt::format("[{}/5]", number)), text));
  }

  void write_stories() {
    stage(1, fmt::format("Writing {} small stories of our own making …", kNumStories));
    write_story_corpus(corpus(), kNumStories, kStorySeed);
    console_.say("      {} in {}", format_bytes(fs::file_size(corpus())), corpus().string());
    console_.say("      {}", console_.dim(generate_story(kStorySeed, 0)));
  }

  void train_tokenizer() {
    stage(2, fmt::format("Learning a vocabulary of {} tokens from them …", kVocabSize));
    BpeTrainerOptions options;
    options.vocab_size = kVocabSize;
    BpeTrainer trainer(options);
    TextFileSource source({corpus()});
    for (std::string document; source.next(document);) trainer.add_document(document);
    tokenizer_.emplace(trainer.train().definition);
    tokenizer_->save(folder_ / "tokenizer");
  }

  void prepare_data() {
    stage(3, "Turning the text into tokens, one story in twenty kept aside to judge the model …");
    PrepareOptions options;
    options.tokenizer = (folder_ / "tokenizer").string();
    options.out = folder_ / "data";
    options.force = arguments_.force;
    const DatasetInfo info = prepare_text_files({corpus()}, std::string(kDefaultSeparator), options);
    vocab_size_ = info.vocab_size;
    console_.say("      {} tokens to learn from, {} to judge; {:.2f} bytes per token",
                 format_count(static_cast<double>(info.train.tokens)),
                 format_count(static_cast<double>(info.validation.tokens)), info.bytes_per_token);
  }

  std::string sample_untrained(const std::string& prompt) {
    Context ctx(*backend_);
    Recipe resolved = recipe_;
    resolved.resolve(0);
    const auto model = make_decoder(ctx, decoder_config(resolved, vocab_size_), {.compute_type = DType::f32});
    model->parameters().initialize(ctx, resolved.seed);
    return write_sample(*model, ctx, *tokenizer_, prompt, 40);
  }

  TrainingResult train() {
    stage(4, "Raising the model: it guesses the next token, millions of times. Ctrl-C saves and stops.");
    view_ = std::make_unique<TrainingView>(console_, measured_machine(console_));
    TrainingSession session;
    session.backend = backend_.get();
    session.run_folder = folder_ / "run";
    session.recipe = recipe_;
    session.data_folder = folder_ / "data";
    session.force = arguments_.force;
    view_->connect(session);
    return run_training(session);
  }

  std::string sample_trained(const std::string& prompt) {
    Context ctx(*backend_);
    LoadedModel loaded = load_model(ctx, folder_ / "run", {.compute_type = DType::f32});
    return write_sample(*loaded.model, ctx, *tokenizer_, prompt, kSampleTokens);
  }

  void report(const std::string& prompt, const std::string& before, const std::string& after, TrainingResult result,
              double seconds) {
    stage(5, "Done.");
    result.run_folder = folder_ / "run";
    const std::string run = result.run_folder.string();
    const std::string curve = draw_curve(view_->losses(), 64, 10, "step");
    console_.result(fmt::format("\nLoss while it learned (nats per token):\n{}", curve));
    console_.result(fmt::format("{}\n{}{}\n", console_.bold("Before:"), prompt, printable(before)));
    console_.result(fmt::format("{}\n{}{}\n", console_.bold("After:"), prompt, printable(after)));
    console_.result(
        fmt::format("On stories it has never seen: {:.3f} bits per byte ({:.3f} nats per token). {} tokens in {}, {} "
                    "tokens/s; the whole "
                    "demo took {}.",
                    result.bits_per_byte, result.validation_loss, format_count(static_cast<double>(result.tokens)),
                    format_duration(result.seconds), format_count(result.tokens_per_second), format_duration(seconds)));
    console_.result(
        fmt::format("\nNext:\n  owlet generate {0} \"Once upon a time\" --seed 3       talk to it\n"
                    "  owlet resume {0} --set horizon.steps=2000        let it learn on\n"
                    "  owlet tokenizer train YOUR.txt --vocab 4096 --out tokenizer   start with a text of your own",
                    run));
    OrderedJson document = to_json(result);
    document["prompt"] = prompt;
    document["before"] = before;
    document["after"] = after;
    document["demo_seconds"] = seconds;
    console_.json_result(document);
  }

  fs::path corpus() const { return folder_ / "stories.txt"; }

  fs::path folder_;
  const DemoArguments& arguments_;
  Program& program_;
  Console& console_;
  Recipe recipe_;
  int64_t vocab_size_ = 0;
  std::optional<Tokenizer> tokenizer_;
  std::unique_ptr<Backend> backend_;
  std::unique_ptr<TrainingView> view_;
};

}  // namespace

void add_demo_command(CLI::App& app, Program& program) {
  CLI::App* command = app.add_subcommand("demo", "Raise a small model from nothing, offline, in about three minutes");
  auto arguments = std::make_shared<DemoArguments>();
  command
      ->add_option("--out", arguments->out,
                   "Folder to work in (default: owlet-demo here, or the next free owlet-demo-N)")
      ->type_name("DIR");
  command->add_flag("--force", arguments->force, "Replace a demo in that folder");
  command->add_option("--set", arguments->overrides, "Change one setting of the demo's recipe")
      ->type_name("KEY=VALUE")
      ->take_all()
      ->expected(1, -1)
      ->allow_extra_args(false);
  add_common_options(*command, program, "  owlet demo\n  owlet demo --out /tmp/owl --set horizon.steps=100");
  set_action(*command, program,
             [arguments, &program] { return Demo(demo_folder(*arguments), *arguments, program).run(); });
}

}  // namespace owlet
