#include "base/error.hpp"
#include "data/instruction/instruction_format.hpp"
#include "data/instruction/row_fields.hpp"

namespace owlet {
namespace {

bool recognises(const Json& row) { return row.contains("chosen") && row.contains("rejected"); }

std::vector<ChatMessage> read_prompt(const Json& row) {
  if (has_list(row, "prompt")) return read_messages(row["prompt"]);
  for (const char* name : {"prompt", "question"}) {
    if (has_field(row, name)) return {{ChatRole::user, text_field(row, name)}};
  }
  check(row.contains("instruction"), ErrorKind::corrupt_file, "no prompt beside the chosen answer");
  return {{ChatRole::user, join_paragraphs(text_field(row, "instruction"), optional_text_field(row, "input"))}};
}

// The chosen answer is taken; the rejected one is for methods that need both.
std::vector<ChatMessage> read(const Json& row, const RowDraw&) {
  std::vector<ChatMessage> messages;
  if (has_list(row, "chosen")) {
    const std::vector<ChatMessage> chosen = read_messages(row["chosen"]);
    const bool is_whole = !chosen.empty() && chosen[0].role != ChatRole::assistant;
    if (!is_whole) messages = read_prompt(row);
    messages.insert(messages.end(), chosen.begin(), chosen.end());
  } else {
    messages = read_prompt(row);
    messages.push_back({ChatRole::assistant, text_field(row, "chosen")});
  }
  const bool has_system = !messages.empty() && messages[0].role == ChatRole::system;
  if (!has_system) prepend_system(row, {"system", "system_prompt"}, messages);
  return messages;
}

}  // namespace

const InstructionFormat& preference_format() {
  static const InstructionFormat format = {"preference", R"({"prompt", "chosen", "rejected"}: the chosen answers)",
                                           recognises, read};
  return format;
}

}  // namespace owlet
