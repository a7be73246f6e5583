// The verbs below `owlet data` that have a file of their own.
#pragma once

#include "cli/command.hpp"

namespace owlet {

void add_data_list(CLI::App& parent, Program& program);
void add_data_get(CLI::App& parent, Program& program);
void add_data_prepare_chat(CLI::App& data, Program& program);

}  // namespace owlet
