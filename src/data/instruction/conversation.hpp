// A conversation out of an instruction set, and the rules it has to keep.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json.hpp"
#include "text/chat_template.hpp"

namespace owlet {

/// Turns of a user and an assistant, taking turns, perhaps behind one system message; the last turn is an answer.
struct Conversation {
  std::vector<ChatMessage> messages;
  std::string place;  ///< where it came from, for example "chat.jsonl, line 17"
};

/// Puts messages into the shape of a Conversation: a blank system message and a last question without an answer go.
/// Returns whether such a question went. Throws corrupt_file with a reason in few words, without a place, the same for
/// all rows with the same fault ("two user turns in a row", "an answer is empty"): reasons are counted.
bool normalise_messages(std::vector<ChatMessage>& messages);

/// One line of chat JSONL: {"messages": [{"role": "user", "content": "…"}, …]}, without the line end.
std::string to_json_line(const std::vector<ChatMessage>& messages);

/// Nothing but white space.
bool is_blank_text(std::string_view text);

}  // namespace owlet
