#include <array>
#include <utility>

#include "base/error.hpp"
#include "data/instruction/instruction_format.hpp"
#include "data/instruction/row_fields.hpp"

namespace owlet {
namespace {

constexpr std::array<std::pair<std::string_view, std::string_view>, 8> kPairs = {{
    {"prompt", "completion"},
    {"prompt", "response"},
    {"question", "response"},
    {"question", "answer"},
    {"query", "response"},
    {"query", "answer"},
    {"input", "output"},
    {"instruction", "completion"},
}};

const std::pair<std::string_view, std::string_view>* pair_of(const Json& row) {
  for (const auto& pair : kPairs) {
    if (row.contains(pair.first) && row.contains(pair.second)) return &pair;
  }
  return nullptr;
}

bool recognises(const Json& row) { return pair_of(row) != nullptr; }

// Either side is text, or a list of messages.
std::vector<ChatMessage> read(const Json& row, const RowDraw&) {
  const auto* pair = pair_of(row);
  check(pair != nullptr, ErrorKind::corrupt_file, "no pair of prompt and completion");
  const auto& [prompt, completion] = *pair;
  std::vector<ChatMessage> messages;
  if (has_list(row, prompt)) {
    messages = read_messages(row[std::string(prompt)]);
  } else {
    messages.push_back({ChatRole::user, text_field(row, prompt)});
  }
  if (has_list(row, completion)) {
    const std::vector<ChatMessage> answer = read_messages(row[std::string(completion)]);
    messages.insert(messages.end(), answer.begin(), answer.end());
  } else {
    messages.push_back({ChatRole::assistant, text_field(row, completion)});
  }
  const bool has_system = !messages.empty() && messages[0].role == ChatRole::system;
  if (!has_system) prepend_system(row, {"system", "system_prompt"}, messages);
  return messages;
}

}  // namespace

const InstructionFormat& prompt_completion_format() {
  static const InstructionFormat format = {"prompt-completion",
                                           R"({"prompt", "completion"}, {"question", "answer"}, …)", recognises, read};
  return format;
}

}  // namespace owlet
