#include "base/error.hpp"
#include "data/instruction/instruction_format.hpp"
#include "data/instruction/row_fields.hpp"

namespace owlet {
namespace {

bool recognises(const Json& row) { return row.contains("instruction") && row.contains("output"); }

// Earlier turns as some sets write them: "history": [["question", "answer"], …].
void append_history(const Json& row, std::vector<ChatMessage>& messages) {
  if (!has_field(row, "history")) return;
  check(row["history"].is_array(), ErrorKind::corrupt_file, "'history' is no list");
  for (const Json& pair : row["history"]) {
    check(pair.is_array() && pair.size() == 2, ErrorKind::corrupt_file, "'history' holds something else than pairs");
    messages.push_back({ChatRole::user, content_text(pair[0], ChatRole::user)});
    messages.push_back({ChatRole::assistant, content_text(pair[1], ChatRole::assistant)});
  }
}

std::vector<ChatMessage> read(const Json& row, const RowDraw&) {
  std::vector<ChatMessage> messages;
  prepend_system(row, {"system", "system_prompt"}, messages);
  append_history(row, messages);
  messages.push_back(
      {ChatRole::user, join_paragraphs(text_field(row, "instruction"), optional_text_field(row, "input"))});
  messages.push_back({ChatRole::assistant, text_field(row, "output")});
  return messages;
}

}  // namespace

const InstructionFormat& alpaca_format() {
  static const InstructionFormat format = {"alpaca", R"({"instruction", "input", "output"})", recognises, read};
  return format;
}

}  // namespace owlet
