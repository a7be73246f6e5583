#include "text/chat_template.hpp"

namespace owlet {
namespace {

constexpr std::string_view kBegin = "<|begin_of_text|>", kEnd = "<|eot_id|>";
constexpr std::string_view kHeaderStart = "<|start_header_id|>", kHeaderEnd = "<|end_header_id|>";

// Meta's own template strips white space around contents; this one keeps contents as they are.
constexpr std::string_view kJinja = R"({{- bos_token }}
{%- for message in messages %}
    {{- '<|start_header_id|>' + message['role'] + '<|end_header_id|>\n\n' }}
    {%- if message['role'] == 'assistant' %}
        {%- generation %}
            {{- message['content'] + '<|eot_id|>' }}
        {%- endgeneration %}
    {%- else %}
        {{- message['content'] + '<|eot_id|>' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|start_header_id|>assistant<|end_header_id|>\n\n' }}
{%- endif %})";

void append_header(std::string_view role, std::vector<ChatPiece>& pieces) {
  pieces.push_back({std::string(kHeaderStart), true});
  pieces.push_back({std::string(role)});
  pieces.push_back({std::string(kHeaderEnd), true});
  pieces.push_back({"\n\n"});
}

void append_message(const ChatMessage& message, std::vector<ChatPiece>& pieces) {
  const bool is_answer = message.role == ChatRole::assistant;
  append_header(to_string(message.role), pieces);
  pieces.push_back({message.content, false, is_answer});
  pieces.push_back({std::string(kEnd), true, is_answer});
}

void append_answer_start(std::vector<ChatPiece>& pieces) { append_header("assistant", pieces); }

}  // namespace

const ChatTemplate& llama3_template() {
  static const ChatTemplate chat_template = {"llama3",
                                             "<|start_header_id|>user<|end_header_id|> … <|eot_id|>",
                                             {kBegin, kHeaderStart, kHeaderEnd, kEnd},
                                             kEnd,
                                             kBegin,
                                             kJinja,
                                             append_message,
                                             append_answer_start};
  return chat_template;
}

}  // namespace owlet
