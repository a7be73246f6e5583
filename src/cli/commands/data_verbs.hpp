// The verbs of `owlet data`: one file each.
#pragma once

#include "cli/command.hpp"

namespace owlet {

void add_data_list(CLI::App& parent, Program& program);
void add_data_get(CLI::App& parent, Program& program);
void add_data_prepare(CLI::App& parent, Program& program);
void add_data_prepare_chat(CLI::App& data, Program& program);
void add_data_stats(CLI::App& parent, Program& program);
void add_data_show(CLI::App& parent, Program& program);

}  // namespace owlet
