// owlet bench: how fast this computer trains and encodes, and where the time goes.
#include <memory>

#include "cli/bench_kernels.hpp"
#include "cli/bench_tokenizer.hpp"
#include "cli/bench_train.hpp"
#include "cli/command.hpp"

namespace owlet {

namespace {

void add_bench_train(CLI::App& bench, Program& program) {
  CLI::App* command = bench.add_subcommand("train", "Time whole training steps of a recipe on random tokens");
  auto arguments = std::make_shared<BenchTrainArguments>();
  command->add_option("--preset", arguments->preset, "Recipe file, or the name of one that comes with Owlet")
      ->required()
      ->type_name("RECIPE");
  command->add_option("--context", arguments->context, "Tokens per row")->type_name("T");
  command->add_option("--batch", arguments->batch, "Rows per step")->type_name("B");
  command->add_option("--steps", arguments->steps, "Steps that count, after two that warm up")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000000))
      ->type_name("N");
  command->add_option("--dtype", arguments->dtype, "Type of activations and matrices")
      ->check(CLI::IsMember({"bf16", "f32"}));
  command->add_option("--attention", arguments->attention, "Blockwise, or with whole score matrices")
      ->check(CLI::IsMember({"flash", "plain"}));
  command->add_option("--optimizer", arguments->optimizer, "Moments in f32, or in 8 bit")
      ->check(CLI::IsMember({"adamw", "adamw8bit"}));
  command->add_option("--weights", arguments->weights, "Master weights in f32, or bf16 ones alone")
      ->check(CLI::IsMember({"f32", "bf16"}));
  command->add_option("--checkpointing", arguments->checkpointing, "Keep activations, or compute them again per block")
      ->type_name("off|block|every N");
  command->add_option("--set", arguments->overrides, "Change one setting of the recipe; may be repeated")
      ->type_name("KEY=VALUE")
      ->take_all()
      ->expected(1, -1)
      ->allow_extra_args(false);
  command->add_flag("--by-shape", arguments->by_shape, "One line of the table for each shape of an operation");
  command
      ->add_option("--save-start", arguments->save_start,
                   "Write the first weights and all batches here, for other programs to train the same")
      ->type_name("DIR");
  add_common_options(*command, program,
                     "  owlet bench train --preset stories-15m --context 256 --batch 32\n"
                     "  owlet bench train --preset llama-1b --batch 4 --optimizer adamw8bit --weights bf16 --json");
  set_action(*command, program, [arguments, &program] { return bench_train(*arguments, program); });
}

void add_bench_ladder(CLI::App& bench, Program& program) {
  CLI::App* command = bench.add_subcommand("ladder", "The same training step with ever more of Owlet's methods");
  auto arguments = std::make_shared<BenchLadderArguments>();
  command->add_option("--preset", arguments->preset, "Recipe file, or the name of one that comes with Owlet")
      ->capture_default_str()
      ->type_name("RECIPE");
  command->add_option("--context", arguments->context, "Tokens per row")->capture_default_str()->type_name("T");
  command->add_option("--batch", arguments->batch, "Rows per step")->capture_default_str()->type_name("B");
  command->add_option("--steps", arguments->steps, "Steps that count, after two that warm up")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000000))
      ->type_name("N");
  add_common_options(*command, program, "  owlet bench ladder\n  owlet bench ladder --context 2048 --batch 4 --json");
  set_action(*command, program, [arguments, &program] { return bench_ladder(*arguments, program); });
}

void add_bench_kernels(CLI::App& bench, Program& program) {
  CLI::App* command = bench.add_subcommand("kernels", "Time every operation alone, beside the limit of the machine");
  auto arguments = std::make_shared<BenchKernelsArguments>();
  command->add_option("--filter", arguments->filter, "Only operations whose name or type contains this")
      ->type_name("NAME");
  command->add_flag("--quick", arguments->quick, "Tiny shapes, one second in all: shows that everything runs");
  add_common_options(*command, program, "  owlet bench kernels\n  owlet bench kernels --filter rms_norm --json");
  set_action(*command, program, [arguments, &program] { return bench_kernels(*arguments, program); });
}

void add_bench_tokenizer(CLI::App& bench, Program& program) {
  CLI::App* command = bench.add_subcommand("tokenizer", "Time how fast a text becomes token ids, on one thread");
  auto arguments = std::make_shared<BenchTokenizerArguments>();
  command->add_option("file", arguments->file, "The text, encoded as one document")->required()->type_name("FILE");
  command->add_option("--tokenizer", arguments->tokenizer, "Tokenizer folder, or 'bytes'")
      ->required()
      ->type_name("DIR");
  command->add_option("--rounds", arguments->num_rounds, "How often; the median counts")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000))
      ->type_name("N");
  add_common_options(*command, program, "  owlet bench tokenizer stories.txt --tokenizer tokenizer --json");
  set_action(*command, program, [arguments, &program] { return bench_tokenizer(*arguments, program); });
}

}  // namespace

void add_bench_command(CLI::App& app, Program& program) {
  CLI::App* command = app.add_subcommand("bench", "Measure training and encoding on this computer");
  command->require_subcommand(1);
  add_bench_train(*command, program);
  add_bench_kernels(*command, program);
  add_bench_ladder(*command, program);
  add_bench_tokenizer(*command, program);
}

}  // namespace owlet
