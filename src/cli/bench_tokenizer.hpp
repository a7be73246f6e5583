// `owlet bench tokenizer`: how fast text becomes token ids.
#pragma once

#include <string>

#include "cli/command.hpp"

namespace owlet {

struct BenchTokenizerArguments {
  std::string file;
  std::string tokenizer;
  int num_rounds = 5;
};

/// Encodes the whole file as one text on this thread, several times, and prints the median; reading is not timed.
/// Throws Error not_found or io for the file, invalid_argument where it is empty.
int bench_tokenizer(const BenchTokenizerArguments& arguments, Program& program);

}  // namespace owlet
