#include "data/instruction/conversation.hpp"

#include "base/error.hpp"

namespace owlet {

bool is_blank_text(std::string_view text) { return text.find_first_not_of(" \t\r\n\f\v") == std::string_view::npos; }

bool normalise_messages(std::vector<ChatMessage>& messages) {
  if (!messages.empty() && messages[0].role == ChatRole::system && is_blank_text(messages[0].content)) {
    messages.erase(messages.begin());
  }
  const size_t first = !messages.empty() && messages[0].role == ChatRole::system ? 1 : 0;
  for (size_t i = first; i < messages.size(); ++i) {
    const ChatRole role = messages[i].role;
    check(role != ChatRole::system, ErrorKind::corrupt_file, "a system message behind the first message");
    check(i > first || role == ChatRole::user, ErrorKind::corrupt_file, "the first turn is the assistant's");
    check(i == first || role != messages[i - 1].role, ErrorKind::corrupt_file, "two {} turns in a row",
          to_string(role));
    check(!is_blank_text(messages[i].content), ErrorKind::corrupt_file, "{}",
          role == ChatRole::user ? "a user turn is empty" : "an answer is empty");
  }
  const bool has_open_question = messages.size() > first && messages.back().role == ChatRole::user;
  if (has_open_question) messages.pop_back();
  check(messages.size() > first, ErrorKind::corrupt_file, "no assistant turn");
  return has_open_question;
}

std::string to_json_line(const std::vector<ChatMessage>& messages) {
  OrderedJson list = OrderedJson::array();
  for (const ChatMessage& message : messages) {
    list.push_back({{"role", to_string(message.role)}, {"content", message.content}});
  }
  return dump_json(OrderedJson{{"messages", std::move(list)}});
}

}  // namespace owlet
