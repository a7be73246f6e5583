// What data.json says about conversations, beside what it says about any data.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/json.hpp"

namespace owlet {

/// How many rows were left out for one reason, and where the first of them stands.
struct DroppedRows {
  uint64_t count = 0;
  std::string first_place;
};

/// Reason -> rows left out for it.
using DropReport = std::map<std::string, DroppedRows>;

/// How conversations were read and stored.
struct ChatInfo {
  std::string format;         ///< of the rows, see instruction_format.hpp
  std::string chat_template;  ///< its name
  uint64_t rows = 0;          ///< read from the files, unreadable ones not counted
  uint64_t unreadable = 0;    ///< rows that were no JSON object
  DropReport dropped;         ///< readable rows that were left out (with too_long = split: or parts of one)
  uint64_t answers = 0;       ///< assistant turns stored
  uint64_t trained_tokens = 0;
  uint64_t open_questions = 0;  ///< last questions without answer, left out
  uint64_t context = 0;         ///< tokens a conversation may have; 0: any number
  std::string too_long;         ///< what was done with longer ones: error, drop, cut, split
  uint64_t num_too_long = 0;    ///< conversations that were longer
  uint64_t num_cut = 0;         ///< stored without their end
  uint64_t num_split = 0;       ///< stored in parts
};

OrderedJson chat_info_to_json(const ChatInfo& info);
/// Throws corrupt_file naming `source` and the field.
ChatInfo chat_info_from_json(const Json& json, const std::string& source);

}  // namespace owlet
