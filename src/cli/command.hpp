// What a command is: a function that adds its verb and options to the parser and names what to run.
// A new command is one file commands/<verb>.cpp, one line below and one in kCommands (main.cpp).
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>

#include "cli/console.hpp"

namespace owlet {

/// Set by the parser's callback of the chosen verb; main() runs it after parsing. Returns the exit code.
using Action = std::function<int()>;

/// What every command shares.
struct Program {
  Console console;
  Action action;
  /// 0 = one per physical core.
  int num_threads = 0;
};

/// Adds --json, --quiet and --threads, spelled alike in all verbs, and an example block under the help.
void add_common_options(CLI::App& command, Program& program, const std::string& examples);
/// Makes `run` the action when this verb is chosen.
void set_action(CLI::App& command, Program& program, Action run);
/// Applies --threads to the process.
void apply_threads(const Program& program);

void add_tokenizer_command(CLI::App& app, Program& program);
void add_data_command(CLI::App& app, Program& program);
void add_pretrain_command(CLI::App& app, Program& program);
void add_resume_command(CLI::App& app, Program& program);
void add_generate_command(CLI::App& app, Program& program);
void add_machine_command(CLI::App& app, Program& program);
void add_bench_command(CLI::App& app, Program& program);
void add_demo_command(CLI::App& app, Program& program);
void add_version_command(CLI::App& app, Program& program);

}  // namespace owlet
