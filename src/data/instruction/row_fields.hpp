// Fields of instruction rows: what the formats share. Reasons of errors are short and hold no content, so that rows
// with the same fault count together.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.hpp"
#include "text/chat_template.hpp"

namespace owlet {

/// Whether the row has the field and it is not null.
bool has_field(const Json& row, std::string_view name);
bool has_text(const Json& row, std::string_view name);
bool has_list(const Json& row, std::string_view name);

/// The text of the field. Throws corrupt_file where it is missing, null, or no text.
std::string text_field(const Json& row, std::string_view name);
/// The same, but empty where it is missing or null.
std::string optional_text_field(const Json& row, std::string_view name);

/// A message's content: a string, or an array whose parts are strings or {"type": "text", "text": "…"}, joined.
/// Throws corrupt_file for anything else (null, pictures).
std::string content_text(const Json& content, ChatRole role);

/// The role behind the names that instruction sets use (human, gpt, …). Throws corrupt_file for an unknown one.
ChatRole role_of(const std::string& name);

/// Messages as objects with role and content, or from and value. Throws corrupt_file.
std::vector<ChatMessage> read_messages(const Json& list);

/// The first of these fields that holds text, as a system message in front of `messages`; blank ones do not count.
void prepend_system(const Json& row, std::initializer_list<std::string_view> names, std::vector<ChatMessage>& messages);

/// "first", or "first", an empty line, and "second" where that is not blank.
std::string join_paragraphs(std::string first, std::string_view second);

}  // namespace owlet
