// Chat templates: conversations as token ids, with the tokens that are trained.
//
//   ChatTokenizer chat = add_chat_template(load_tokenizer("tokenizer"), find_chat_template("chatml"));
//   ChatRenderer renderer(chat.tokenizer);
//   RenderedChat sample = renderer.render({{ChatRole::user, "Hi"}, {ChatRole::assistant, "Hello!"}});
//
// What is trained follows from where messages begin and end, never from a search in text. A message that contains
// something like a control token stays plain text: only the template itself writes control tokens.
//
// A new template is one file chat_templates/NAME.cpp, its declaration at the end, and one line in the list in
// chat_template.cpp. It says the same thing twice: as pieces, for this program, and as Jinja text, for others.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/tokenizer.hpp"

namespace owlet {

enum class ChatRole { system, user, assistant };

/// "system", "user" or "assistant".
std::string_view to_string(ChatRole role);

struct ChatMessage {
  ChatRole role = ChatRole::user;
  std::string content;  ///< UTF-8 where it came from JSON
  bool operator==(const ChatMessage&) const = default;
};

/// A stretch of a rendered conversation: one control token, or plain text.
struct ChatPiece {
  std::string text;
  bool is_control = false;
  bool is_trained = false;
};

/// How one family of models writes a conversation.
struct ChatTemplate {
  std::string_view name;         ///< as --template takes it
  std::string_view description;  ///< for people, a few words
  std::vector<std::string_view> control_tokens;
  std::string_view end_of_turn;    ///< the control token behind each answer; generation ends there
  std::string_view begin_of_text;  ///< the token before the first message; empty: the tokenizer's end-of-text, if any
  std::string_view jinja;          ///< the same as Jinja text for `transformers` and others
  void (*append_message)(const ChatMessage& message, std::vector<ChatPiece>& pieces) = nullptr;
  /// What stands before an answer that is to be generated.
  void (*append_answer_start)(std::vector<ChatPiece>& pieces) = nullptr;
};

/// All templates; the first is the default.
std::span<const ChatTemplate* const> chat_templates();
/// The template of that name. Throws invalid_argument naming those that exist.
const ChatTemplate& find_chat_template(std::string_view name);
/// The template whose Jinja text the tokenizer carries, or null.
const ChatTemplate* find_chat_template(const Tokenizer& tokenizer);

/// A tokenizer that knows a template, and what that took.
struct ChatTokenizer {
  Tokenizer tokenizer;
  std::vector<std::string> new_tokens;  ///< control tokens that got new ids, at the end of the vocabulary
};

/// A copy of `tokenizer` with the template's control tokens, its Jinja text and its end of turn. Tokens that are there
/// keep their ids. Control tokens become special, so that message text cannot contain them.
ChatTokenizer add_chat_template(const Tokenizer& tokenizer, const ChatTemplate& chat_template);

struct RenderedChat {
  std::vector<int32_t> tokens;
  std::vector<uint8_t> is_trained;     ///< 1 for the text of answers and the token that ends each, else 0
  std::vector<uint64_t> message_ends;  ///< for each message the number of tokens up to its end
};

/// Renders conversations. Const methods may be called from several threads at once.
class ChatRenderer {
 public:
  /// Throws invalid_argument where the tokenizer lacks a control token of the template.
  ChatRenderer(Tokenizer tokenizer, const ChatTemplate& chat_template);
  const Tokenizer& tokenizer() const { return tokenizer_; }
  const ChatTemplate& chat_template() const { return template_; }

  RenderedChat render(std::span<const ChatMessage> messages) const;
  /// The messages and the beginning of an answer: what generation starts from.
  std::vector<int32_t> render_prompt(std::span<const ChatMessage> messages) const;
  /// The text that render() tokenises, control tokens as they are written.
  std::string render_text(std::span<const ChatMessage> messages, bool adds_answer_start = false) const;

 private:
  void append(std::span<const ChatPiece> pieces, RenderedChat& chat) const;
  std::vector<ChatPiece> first_pieces() const;

  Tokenizer tokenizer_;
  const ChatTemplate& template_;
  std::string begin_of_text_;
};

// The templates.

/// ChatML: <|im_start|>role, line end, content, <|im_end|>, line end (OpenAI 2023; Qwen, SmolLM and others).
const ChatTemplate& chatml_template();
/// Llama 3: <|start_header_id|>role<|end_header_id|>, two line ends, content, <|eot_id|>.
const ChatTemplate& llama3_template();

}  // namespace owlet
