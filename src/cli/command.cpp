#include "cli/command.hpp"

#include "base/parallel_for.hpp"

namespace owlet {

void add_common_options(CLI::App& command, Program& program, const std::string& examples) {
  command.add_flag("--json", program.console.json, "Print the result as one JSON document on stdout");
  command.add_flag("-q,--quiet", program.console.quiet, "No progress and no remarks");
  command.add_option("--threads", program.num_threads, "Threads to use (default: one per physical core)")
      ->check(CLI::Range(1, 4096));
  if (!examples.empty()) command.footer("Examples:\n" + examples);
}

void set_action(CLI::App& command, Program& program, Action run) {
  command.callback([&program, run = std::move(run)] { program.action = run; });
}

void apply_threads(const Program& program) {
  if (program.num_threads > 0) set_num_threads(program.num_threads);
}

}  // namespace owlet
