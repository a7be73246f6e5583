// owlet generate: continue a text with a model or a run's best checkpoint.
#include <memory>

#include "cli/command.hpp"
#include "cli/program_backend.hpp"
#include "infer/loaded_model.hpp"
#include "infer/text_generator.hpp"

namespace owlet {

namespace {

struct GenerateArguments {
  std::string model, prompt;
  std::string precision = "bf16";
  GenerationOptions options;
};

int run_generate(const GenerateArguments& arguments, Program& program) {
  Console& console = program.console;
  arguments.options.sampler.check();
  const auto backend = make_backend(program);
  Context ctx(*backend);
  const DType type = parse_dtype(arguments.precision);
  LoadedModel loaded = load_model(ctx, arguments.model, {.compute_type = type, .keeps_master = type != DType::bf16});
  for (const std::string& note : loaded.notes) console.warning(note);
  TextGenerator generator(ctx, {*loaded.model, loaded.tokenizer, loaded.begin_id, loaded.end_ids});
  console.result_piece(arguments.prompt);
  const GenerationResult result = generator.generate(arguments.prompt, arguments.options, [&](std::string_view piece) {
    console.result_piece(piece);
    return true;
  });
  console.result("");
  console.say("{}", console.dim(fmt::format(
                        "{} tokens, {:.0f} tokens/s, {}", result.ids.size(), result.tokens_per_second(),
                        result.finish == FinishReason::stop ? "ended by the model" : "stopped at the limit")));
  console.json_result({{"text", result.text},
                       {"ids", result.ids},
                       {"prompt_ids", result.prompt_ids},
                       {"finish_reason", to_string(result.finish)},
                       {"tokens_per_second", result.tokens_per_second()},
                       {"prefill_seconds", result.prefill_seconds},
                       {"decode_seconds", result.decode_seconds},
                       {"model", loaded.folder.string()}});
  return 0;
}

}  // namespace

void add_generate_command(CLI::App& app, Program& program) {
  CLI::App* command = app.add_subcommand("generate", "Continue a text with a trained model");
  auto arguments = std::make_shared<GenerateArguments>();
  SamplerOptions& sampler = arguments->options.sampler;
  command->add_option("model", arguments->model, "Model folder, or a run folder (its best checkpoint)")
      ->required()
      ->type_name("MODEL|RUN");
  command->add_option("prompt", arguments->prompt, "Text to continue")->type_name("PROMPT");
  command->add_option("--max-tokens", arguments->options.max_tokens, "Tokens to add at most")
      ->capture_default_str()
      ->type_name("N");
  command->add_option("--temperature", sampler.temperature, "0 always takes the likeliest token; higher is more varied")
      ->capture_default_str()
      ->type_name("X");
  command->add_option("--top-k", sampler.top_k, "Choose among the K likeliest tokens (0: all)")->capture_default_str();
  command->add_option("--top-p", sampler.top_p, "Choose among the likeliest tokens that make up this probability")
      ->capture_default_str();
  command->add_option("--min-p", sampler.min_p, "Drop tokens less likely than this share of the likeliest")
      ->capture_default_str();
  command->add_option("--repetition-penalty", sampler.repetition_penalty, "Above 1: repeat less")
      ->capture_default_str();
  command->add_option("--seed", sampler.seed, "The same seed gives the same text")
      ->capture_default_str()
      ->type_name("N");
  command->add_option("--precision", arguments->precision, "How weights are kept and multiplied")
      ->check(CLI::IsMember({"bf16", "f32"}))
      ->capture_default_str();
  command->add_flag("--special", arguments->options.parses_special, "Read control tokens in the prompt as such");
  add_common_options(*command, program,
                     "  owlet generate runs/stories \"Once upon a time\" --max-tokens 120 --seed 7\n"
                     "  owlet generate runs/stories \"Lily found a\" --temperature 0 --json");
  set_action(*command, program, [arguments, &program] { return run_generate(*arguments, program); });
}

}  // namespace owlet
