// The program `owlet`: parses the command line, runs one command, maps errors to exit codes.
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <new>

#include "base/nearest_name.hpp"
#include "cli/command.hpp"
#include "cli/exit_codes.hpp"
#include "machine/process_memory.hpp"

namespace owlet {
namespace {

/// Every verb, in the order the help shows them.
constexpr void (*kCommands[])(CLI::App&, Program&) = {
    add_demo_command,     add_data_command,    add_tokenizer_command, add_pretrain_command, add_resume_command,
    add_generate_command, add_machine_command, add_bench_command,     add_version_command,
};

std::vector<std::string> verb_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* verb : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(verb->get_name());
  return names;
}

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

/// The deepest verb that the words reached, and the first word it does not know ("" if there is none).
std::pair<const CLI::App*, std::string> first_unknown_word(const CLI::App& app, const std::vector<std::string>& words) {
  const CLI::App* verb = &app;
  for (const std::string& word : words) {
    if (word.size() > 2 && word.starts_with("--")) {
      const std::string name = word.substr(0, word.find('='));
      const auto known = option_names(*verb);
      if (std::ranges::find(known, name) == known.end()) return {verb, name};
    } else if (!word.starts_with("-")) {
      const auto verbs = verb_names(*verb);
      if (verbs.empty()) continue;
      if (std::ranges::find(verbs, word) == verbs.end()) return {verb, word};
      verb = verb->get_subcommand(word);
    }
  }
  return {verb, ""};
}

int report_usage_error(const CLI::ParseError& error, const CLI::App& app, Program& program,
                       std::vector<std::string> words) {
  const auto [verb, unknown] = first_unknown_word(app, words);
  std::string place = verb->get_name();
  for (const CLI::App* parent = verb->get_parent(); parent != nullptr; parent = parent->get_parent()) {
    place = parent->get_name() + " " + place;
  }
  std::string message = error.what(), hint = fmt::format("`{} --help` shows what is possible", place);
  if (!unknown.empty() &&
      (dynamic_cast<const CLI::ExtrasError*>(&error) || dynamic_cast<const CLI::RequiredError*>(&error))) {
    const bool is_option = unknown.starts_with("-");
    message = fmt::format("{} has no {} '{}'", place, is_option ? "option" : "command", unknown);
    const std::string near = nearest_name(unknown, is_option ? option_names(*verb) : verb_names(*verb));
    if (!near.empty()) hint = fmt::format("did you mean '{}'? {}", near, hint);
  }
  program.console.error("invalid_argument", message, hint);
  return kExitUsage;
}

/// OpenMP's threads spin while they wait for each other, by default for milliseconds. On a computer that does anything
/// else besides, that takes the processor from the thread that is waited for; sleeping at once costs half of the speed
/// on a quiet one. A short spin keeps both (figures in docs/log.md). The runtime reads its settings before main(), so
/// the program starts itself once more with them. What the owner has set stays.
void shorten_spinning(char** argv) {
  if (std::getenv("OMP_WAIT_POLICY") != nullptr || std::getenv("GOMP_SPINCOUNT") != nullptr) return;
  if (setenv("GOMP_SPINCOUNT", "20000", 1) == 0) execv("/proc/self/exe", argv);
  // Where that fails, everything still works.
}

int run_action(Program& program) {
  try {
    return program.action ? program.action() : 0;
  } catch (const Error& error) {
    program.console.error(to_string(error.kind()), error.what(), error.hint());
    return exit_code(error.kind());
  } catch (const std::bad_alloc&) {
    program.console.error("out_of_memory", "the system has no more memory for this process",
                          "a smaller batch, context or model needs less");
    return exit_code(ErrorKind::out_of_memory);
  } catch (const std::exception& error) {
    program.console.error("internal", error.what(),
                          "this is a fault of Owlet: please report the command and this message");
    return exit_code(ErrorKind::internal);
  }
}

int run_program(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  CLI::App app{"Owlet raises small language models at home: from text to a model you can talk to, on one computer."};
  app.name("owlet");
  app.footer("Start here: owlet demo");
  Program program;
  for (const auto add : kCommands) add(app, program);
  app.require_subcommand(1);
  app.set_help_flag("-h,--help", "Print this help");
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.empty()) {
    fmt::print("{}", app.help());
    return 0;
  }
  if (words.size() == 1 && words[0] == "--version") {
    fmt::print("owlet {}\n", OWLET_VERSION);
    return 0;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp& call) {
    return app.exit(call);
  } catch (const CLI::ParseError& error) {
    // --json may stand behind the word that stopped the parser.
    program.console.json = std::ranges::find(words, "--json") != words.end();
    return report_usage_error(error, app, program, words);
  }
  return run_action(program);
}

}  // namespace
}  // namespace owlet

int main(int argc, char** argv) {
  owlet::shorten_spinning(argv);
  owlet::keep_freed_memory();
  return owlet::run_program(argc, argv);
}
