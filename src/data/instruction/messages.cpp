#include "base/error.hpp"
#include "data/instruction/instruction_format.hpp"
#include "data/instruction/row_fields.hpp"

namespace owlet {
namespace {

bool recognises(const Json& row) { return has_list(row, "messages"); }

std::vector<ChatMessage> read(const Json& row, const RowDraw&) {
  check(has_field(row, "messages"), ErrorKind::corrupt_file, "'messages' is missing");
  return read_messages(row["messages"]);
}

}  // namespace

const InstructionFormat& messages_format() {
  static const InstructionFormat format = {"messages", R"({"messages": [{"role", "content"}, …]})", recognises, read};
  return format;
}

}  // namespace owlet
