// Any bytes as one row of an instruction set, and as a block of stories: conversations that render, or an Error.
#include "base/error.hpp"
#include "data/instruction/context_fit.hpp"
#include "data/instruction/instruction_format.hpp"
#include "text/chat_template.hpp"

namespace {

void read_row(const owlet::Json& row, const owlet::ChatRenderer& renderer) {
  for (const owlet::InstructionFormat* format : owlet::instruction_formats()) {
    try {
      [[maybe_unused]] const bool is_recognised = format->recognises(row);
      std::vector<owlet::ChatMessage> messages = format->read(row, {1, 2});
      owlet::normalise_messages(messages);
      if (owlet::normalise_messages(messages)) std::abort();  // once is enough
      owlet::parse_json(owlet::to_json_line(messages), "line");
      for (const owlet::TooLong policy : {owlet::TooLong::cut, owlet::TooLong::split}) {
        for (const owlet::StoredConversation& stored : fit_to_context(messages, renderer, 64, policy).stored) {
          if (stored.chat.tokens.empty() || stored.chat.tokens.size() > 64) std::abort();
          if (stored.chat.tokens.size() != stored.chat.is_trained.size()) std::abort();
        }
      }
    } catch (const owlet::Error&) {
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t count) {
  static const owlet::ChatRenderer renderer(
      owlet::add_chat_template(owlet::byte_tokenizer(), owlet::chatml_template()).tokenizer, owlet::chatml_template());
  const std::string text(reinterpret_cast<const char*>(bytes), count);
  read_row(owlet::Json{{"text", text}}, renderer);
  try {
    const owlet::Json row = owlet::parse_json(text, "row");
    if (row.is_object()) read_row(row, renderer);
  } catch (const owlet::Error&) {
  }
  return 0;
}
