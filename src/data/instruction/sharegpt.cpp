#include "base/error.hpp"
#include "data/instruction/instruction_format.hpp"
#include "data/instruction/row_fields.hpp"

namespace owlet {
namespace {

bool recognises(const Json& row) { return has_list(row, "conversations") || has_list(row, "conversation"); }

std::vector<ChatMessage> read(const Json& row, const RowDraw&) {
  const char* name = has_field(row, "conversation") ? "conversation" : "conversations";
  check(has_field(row, name), ErrorKind::corrupt_file, "'{}' is missing", name);
  std::vector<ChatMessage> messages = read_messages(row[name]);
  const bool has_system = !messages.empty() && messages[0].role == ChatRole::system;
  if (!has_system) prepend_system(row, {"system", "system_prompt"}, messages);
  return messages;
}

}  // namespace

const InstructionFormat& sharegpt_format() {
  static const InstructionFormat format = {"sharegpt", R"({"conversations": [{"from": "human", "value"}, …]})",
                                           recognises, read};
  return format;
}

}  // namespace owlet
