#include "data/instruction/instruction_format.hpp"
#include "data/instruction/row_fields.hpp"

namespace owlet {
namespace {

bool recognises(const Json& row) { return row.contains("instruction") && row.contains("response"); }

std::vector<ChatMessage> read(const Json& row, const RowDraw&) {
  std::vector<ChatMessage> messages;
  prepend_system(row, {"system", "system_prompt"}, messages);
  messages.push_back(
      {ChatRole::user, join_paragraphs(text_field(row, "instruction"), optional_text_field(row, "context"))});
  messages.push_back({ChatRole::assistant, text_field(row, "response")});
  return messages;
}

}  // namespace

const InstructionFormat& dolly_format() {
  static const InstructionFormat format = {"dolly", R"({"instruction", "context", "response", "category"})", recognises,
                                           read};
  return format;
}

}  // namespace owlet
