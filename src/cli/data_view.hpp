// What a data folder holds, for people and as JSON.
#pragma once

#include "base/json.hpp"
#include "cli/console.hpp"
#include "data/dataset.hpp"

namespace owlet {

/// Counts, lengths and split; for conversations also "chat" (data/chat_info.hpp) and "trained_share".
OrderedJson data_statistics_json(const DatasetInfo& info);
/// The same in lines of the result.
void print_data_statistics(const DatasetInfo& info, Console& console);

}  // namespace owlet
