#include "cli/bench_tokenizer.hpp"

#include <algorithm>
#include <vector>

#include "base/atomic_file.hpp"
#include "base/error.hpp"
#include "base/human.hpp"
#include "machine/measure_timing.hpp"
#include "text/tokenizer.hpp"

namespace owlet {

int bench_tokenizer(const BenchTokenizerArguments& arguments, Program& program) {
  const Tokenizer tokenizer = load_tokenizer(arguments.tokenizer);
  const std::string text = read_file(arguments.file);
  check(!text.empty(), ErrorKind::invalid_argument, "'{}' is empty: there is nothing to time", arguments.file);
  std::vector<int32_t> ids;
  std::vector<double> seconds;
  for (int round = 0; round < arguments.num_rounds; ++round) {
    program.console.progress(fmt::format("round {} of {}", round + 1, arguments.num_rounds));
    ids.clear();
    seconds.push_back(seconds_of([&] { tokenizer.encode_append(text, ids); }));
  }
  const double first = seconds.front(), middle = median(seconds);
  const auto num_bytes = static_cast<double>(text.size()), num_tokens = std::max(1.0, static_cast<double>(ids.size()));
  program.console.result(fmt::format("{:.1f} MB/s, {} tokens/s on one thread (median of {}; first round {:.1f} MB/s)",
                                     num_bytes / middle / 1e6, format_count(num_tokens / middle), arguments.num_rounds,
                                     num_bytes / first / 1e6));
  program.console.result(fmt::format("{} became {} tokens: {:.2f} bytes per token", format_bytes(text.size()),
                                     format_count(num_tokens), num_bytes / num_tokens));
  program.console.json_result({{"megabytes_per_second", num_bytes / middle / 1e6},
                               {"first_round_megabytes_per_second", num_bytes / first / 1e6},
                               {"tokens", ids.size()},
                               {"bytes", text.size()},
                               {"seconds", middle},
                               {"tokens_per_second", num_tokens / middle},
                               {"bytes_per_token", num_bytes / num_tokens},
                               {"rounds", arguments.num_rounds},
                               {"tokenizer", tokenizer.name()}});
  return 0;
}

}  // namespace owlet
