#include "base/error.hpp"
#include "data/instruction/instruction_format.hpp"
#include "data/instruction/row_fields.hpp"

namespace owlet {
namespace {

bool recognises(const Json& row) { return has_list(row, "data") && !row["data"].empty() && row["data"][0].is_string(); }

// UltraChat as first published: the user and the assistant take turns, the user begins.
std::vector<ChatMessage> read(const Json& row, const RowDraw&) {
  check(has_list(row, "data"), ErrorKind::corrupt_file, "'data' is no list");
  std::vector<ChatMessage> messages;
  for (const Json& turn : row["data"]) {
    const ChatRole role = messages.size() % 2 == 0 ? ChatRole::user : ChatRole::assistant;
    messages.push_back({role, content_text(turn, role)});
  }
  return messages;
}

}  // namespace

const InstructionFormat& turns_format() {
  static const InstructionFormat format = {"turns", R"({"data": ["question", "answer", …]})", recognises, read};
  return format;
}

}  // namespace owlet
