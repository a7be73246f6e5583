// What becomes of conversations that are longer than a context: never anything silent.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "data/instruction/conversation.hpp"
#include "text/chat_template.hpp"

namespace owlet {

enum class TooLong {
  error,  ///< nothing is written
  drop,   ///< the conversation is left out
  cut,    ///< its end is left out, at any token; then no end of turn is trained there
  split,  ///< it becomes several, parted between exchanges, each behind the system message
};

/// "error", "drop", "cut" or "split"; throws invalid_argument for another name.
TooLong too_long_from(std::string_view name);
std::string_view to_string(TooLong policy);

/// A conversation as it is stored: messages and tokens (a cut one keeps all its messages).
struct StoredConversation {
  std::vector<ChatMessage> messages;
  RenderedChat chat;
};

/// What became of one conversation.
struct ContextFit {
  std::vector<StoredConversation> stored;
  bool was_too_long = false, was_cut = false, was_split = false;
  uint64_t exchanges_dropped = 0;  ///< by split: a question with its answer that is too long on its own
  uint64_t num_tokens = 0;         ///< of the whole
};

/// Renders a conversation and fits it to `context` tokens (0: any number). With TooLong::error or drop a long one
/// stores nothing; with cut nothing is stored where no token of an answer would be left.
ContextFit fit_to_context(std::vector<ChatMessage> messages, const ChatRenderer& renderer, uint64_t context,
                          TooLong policy);

}  // namespace owlet
