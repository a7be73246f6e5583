#include "data/instruction/row_fields.hpp"

#include <array>
#include <utility>

#include "base/error.hpp"
#include "data/instruction/conversation.hpp"

namespace owlet {
namespace {

constexpr size_t kMaxShownName = 40;

const Json& field_of(const Json& row, std::string_view name) {
  static const Json null;
  const auto found = row.find(name);
  return found == row.end() ? null : *found;
}

const Json& first_field_of(const Json& row, std::string_view name, std::string_view other_name) {
  return row.contains(name) ? field_of(row, name) : field_of(row, other_name);
}

constexpr std::array<std::pair<std::string_view, ChatRole>, 15> kRoles = {{
    {"system", ChatRole::system},
    {"developer", ChatRole::system},
    {"user", ChatRole::user},
    {"human", ChatRole::user},
    {"User", ChatRole::user},
    {"Human", ChatRole::user},
    {"prompter", ChatRole::user},
    {"assistant", ChatRole::assistant},
    {"Assistant", ChatRole::assistant},
    {"gpt", ChatRole::assistant},
    {"chatgpt", ChatRole::assistant},
    {"model", ChatRole::assistant},
    {"bot", ChatRole::assistant},
    {"bard", ChatRole::assistant},
    {"bing", ChatRole::assistant},
}};

}  // namespace

bool has_field(const Json& row, std::string_view name) { return !field_of(row, name).is_null(); }
bool has_text(const Json& row, std::string_view name) { return field_of(row, name).is_string(); }
bool has_list(const Json& row, std::string_view name) { return field_of(row, name).is_array(); }

std::string text_field(const Json& row, std::string_view name) {
  const Json& value = field_of(row, name);
  check(row.contains(name), ErrorKind::corrupt_file, "'{}' is missing", name);
  check(!value.is_null(), ErrorKind::corrupt_file, "'{}' is null", name);
  check(value.is_string(), ErrorKind::corrupt_file, "'{}' is no text", name);
  return value.get<std::string>();
}

std::string optional_text_field(const Json& row, std::string_view name) {
  return has_field(row, name) ? text_field(row, name) : std::string();
}

std::string content_text(const Json& content, ChatRole role) {
  if (content.is_string()) return content.get<std::string>();
  check(!content.is_null(), ErrorKind::corrupt_file, "{}",
        role == ChatRole::assistant ? "an answer is null" : "the content of a message is null");
  check(content.is_array(), ErrorKind::corrupt_file, "the content of a message is no text");
  std::string text;
  for (const Json& part : content) {
    if (part.is_string()) {
      text += part.get_ref<const std::string&>();
      continue;
    }
    check(part.is_object() && (!part.contains("type") || part["type"] == "text") && has_text(part, "text"),
          ErrorKind::corrupt_file, "a message has a part that is no text");
    text += part["text"].get_ref<const std::string&>();
  }
  return text;
}

ChatRole role_of(const std::string& name) {
  for (const auto& [known, role] : kRoles) {
    if (name == known) return role;
  }
  const bool is_long = name.size() > kMaxShownName;
  fail(ErrorKind::corrupt_file, "unknown role '{}'", is_long ? "(a long text)" : name);
}

std::vector<ChatMessage> read_messages(const Json& list) {
  check(list.is_array(), ErrorKind::corrupt_file, "the messages are no list");
  std::vector<ChatMessage> messages;
  messages.reserve(list.size());
  for (const Json& item : list) {
    check(item.is_object(), ErrorKind::corrupt_file, "a message is no object");
    const Json& role_name = first_field_of(item, "role", "from");
    check(role_name.is_string(), ErrorKind::corrupt_file, "a message without a role");
    const ChatRole role = role_of(role_name.get<std::string>());
    messages.push_back({role, content_text(first_field_of(item, "content", "value"), role)});
  }
  return messages;
}

void prepend_system(const Json& row, std::initializer_list<std::string_view> names,
                    std::vector<ChatMessage>& messages) {
  for (const std::string_view name : names) {
    if (!has_text(row, name)) continue;
    std::string text = text_field(row, name);
    if (!is_blank_text(text)) messages.insert(messages.begin(), {ChatRole::system, std::move(text)});
    return;
  }
}

std::string join_paragraphs(std::string first, std::string_view second) {
  if (is_blank_text(second)) return first;
  first += "\n\n";
  first += second;
  return first;
}

}  // namespace owlet
