#include "text/chat_template.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "base/nearest_name.hpp"
#include "text/byte_alphabet.hpp"

namespace owlet {
namespace {

/// Gives `content` an id in the definition, as a special token; true if the id is new.
bool add_control_token(TokenizerDefinition& definition, std::string_view content, int32_t next_id) {
  for (AddedToken& token : definition.added_tokens) {
    if (token.content != content) continue;
    token.is_special = true;
    token.strips_left = token.strips_right = token.is_single_word = token.is_normalized = false;
    return false;
  }
  // A word of the vocabulary may be spelled like the token; `tokenizers` would use its id, too.
  const auto word = std::find(definition.vocab.begin(), definition.vocab.end(), spell_bytes(content));
  const bool is_new = word == definition.vocab.end();
  const int32_t id = is_new ? next_id : static_cast<int32_t>(word - definition.vocab.begin());
  definition.added_tokens.push_back({.content = std::string(content), .id = id});
  return is_new;
}

std::string begin_of_text_of(const Tokenizer& tokenizer, const ChatTemplate& chat_template) {
  if (!chat_template.begin_of_text.empty()) return std::string(chat_template.begin_of_text);
  for (const AddedToken& token : tokenizer.added_tokens()) {
    if (tokenizer.end_of_text_id() == token.id) return token.content;
  }
  return {};
}

}  // namespace

std::string_view to_string(ChatRole role) {
  switch (role) {
    case ChatRole::system:
      return "system";
    case ChatRole::user:
      return "user";
    case ChatRole::assistant:
      break;
  }
  return "assistant";
}

std::span<const ChatTemplate* const> chat_templates() {
  static const ChatTemplate* const templates[] = {
      &chatml_template(),
      &llama3_template(),
  };
  return templates;
}

const ChatTemplate& find_chat_template(std::string_view name) {
  std::vector<std::string> names;
  for (const auto* chat_template : chat_templates()) {
    if (chat_template->name == name) return *chat_template;
    names.emplace_back(chat_template->name);
  }
  const std::string nearest = nearest_name(name, names);
  throw Error(ErrorKind::invalid_argument,
              fmt::format("there is no chat template '{}'; there are: {}", name, fmt::join(names, ", ")),
              nearest.empty() ? "" : fmt::format("did you mean '{}'?", nearest));
}

const ChatTemplate* find_chat_template(const Tokenizer& tokenizer) {
  for (const ChatTemplate* chat_template : chat_templates()) {
    if (chat_template->jinja == tokenizer.definition().chat_template) return chat_template;
  }
  return nullptr;
}

ChatTokenizer add_chat_template(const Tokenizer& tokenizer, const ChatTemplate& chat_template) {
  TokenizerDefinition definition = tokenizer.definition();
  std::vector<std::string> new_tokens;
  int32_t next_id = tokenizer.vocab_size();
  for (const std::string_view content : chat_template.control_tokens) {
    if (!add_control_token(definition, content, next_id)) continue;
    new_tokens.emplace_back(content);
    ++next_id;
  }
  definition.chat_template = chat_template.jinja;
  definition.end_of_turn = chat_template.end_of_turn;
  definition.begin_of_text = chat_template.begin_of_text;
  return {Tokenizer(std::move(definition)), std::move(new_tokens)};
}

ChatRenderer::ChatRenderer(Tokenizer tokenizer, const ChatTemplate& chat_template)
    : tokenizer_(std::move(tokenizer)),
      template_(chat_template),
      begin_of_text_(begin_of_text_of(tokenizer_, chat_template)) {
  for (const std::string_view content : template_.control_tokens) {
    const auto id = tokenizer_.added_token_id(content);
    check(id && tokenizer_.is_special(*id), ErrorKind::invalid_argument,
          "the tokenizer has no special token '{}', which the chat template '{}' needs", content, template_.name);
  }
}

std::vector<ChatPiece> ChatRenderer::first_pieces() const {
  if (begin_of_text_.empty()) return {};
  return {{begin_of_text_, true, false}};
}

void ChatRenderer::append(std::span<const ChatPiece> pieces, RenderedChat& chat) const {
  std::string text;
  for (size_t i = 0; i < pieces.size(); ++i) {
    const ChatPiece& piece = pieces[i];
    if (piece.is_control) {
      chat.tokens.push_back(tokenizer_.added_token_id(piece.text).value());
    } else {
      // Neighbours are encoded as one text, as other programs do, but an answer on its own: generation starts there.
      text += piece.text;
      const bool goes_on =
          i + 1 < pieces.size() && !pieces[i + 1].is_control && pieces[i + 1].is_trained == piece.is_trained;
      if (goes_on) continue;
      tokenizer_.encode_append(text, chat.tokens);
      text.clear();
    }
    chat.is_trained.resize(chat.tokens.size(), piece.is_trained ? 1 : 0);
  }
}

RenderedChat ChatRenderer::render(std::span<const ChatMessage> messages) const {
  RenderedChat chat;
  append(first_pieces(), chat);
  std::vector<ChatPiece> pieces;
  for (const ChatMessage& message : messages) {
    pieces.clear();
    template_.append_message(message, pieces);
    append(pieces, chat);
    chat.message_ends.push_back(chat.tokens.size());
  }
  return chat;
}

std::vector<int32_t> ChatRenderer::render_prompt(std::span<const ChatMessage> messages) const {
  RenderedChat chat = render(messages);
  std::vector<ChatPiece> pieces;
  template_.append_answer_start(pieces);
  append(pieces, chat);
  return std::move(chat.tokens);
}

std::string ChatRenderer::render_text(std::span<const ChatMessage> messages, bool adds_answer_start) const {
  std::vector<ChatPiece> pieces = first_pieces();
  for (const ChatMessage& message : messages) template_.append_message(message, pieces);
  if (adds_answer_start) template_.append_answer_start(pieces);
  std::string text;
  for (const ChatPiece& piece : pieces) text += piece.text;
  return text;
}

}  // namespace owlet
