// The formats of instruction sets: how one row becomes the messages of a conversation.
//
// A new format is one file NAME.cpp in this folder, its declaration at the end, and one line in the list in
// instruction_format.cpp. The list is asked from its beginning: a format stands before those that would take its rows
// for theirs.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/json.hpp"
#include "text/chat_template.hpp"

namespace owlet {

/// Chooses among phrasings: the same seed and row give the same words.
struct RowDraw {
  uint64_t seed = 0;
  uint64_t row = 0;  ///< number of the row in its set, from 0
};

struct InstructionFormat {
  std::string_view name;    ///< as --format takes it
  std::string_view fields;  ///< what a row looks like, for people
  /// Whether a row has the fields of this format.
  bool (*recognises)(const Json& row) = nullptr;
  /// The messages of a row, not yet checked. Throws corrupt_file with a reason in few words (see conversation.hpp).
  std::vector<ChatMessage> (*read)(const Json& row, const RowDraw& draw) = nullptr;
};

std::span<const InstructionFormat* const> instruction_formats();
/// The format of that name. Throws invalid_argument naming those that exist.
const InstructionFormat& find_instruction_format(std::string_view name);
/// The first format that recognises the row, or null.
const InstructionFormat* recognise_instruction_format(const Json& row);

// The formats.

const InstructionFormat& messages_format();           ///< {"messages": [{"role", "content"}]}
const InstructionFormat& sharegpt_format();           ///< {"conversations": [{"from", "value"}]}
const InstructionFormat& preference_format();         ///< {"prompt", "chosen", "rejected"}
const InstructionFormat& turns_format();              ///< {"data": ["question", "answer", …]}
const InstructionFormat& dolly_format();              ///< {"instruction", "context", "response", "category"}
const InstructionFormat& alpaca_format();             ///< {"instruction", "input", "output"}
const InstructionFormat& prompt_completion_format();  ///< {"prompt", "completion"} and pairs like it
const InstructionFormat& story_request_format();      ///< blocks of TinyStories-Instruct in {"text"}

}  // namespace owlet
