#include "text/chat_template.hpp"

namespace owlet {
namespace {

constexpr std::string_view kStart = "<|im_start|>", kEnd = "<|im_end|>";

constexpr std::string_view kJinja = R"({{- bos_token }}
{%- for message in messages %}
    {{- '<|im_start|>' + message['role'] + '\n' }}
    {%- if message['role'] == 'assistant' %}
        {%- generation %}
            {{- message['content'] + '<|im_end|>' }}
        {%- endgeneration %}
    {%- else %}
        {{- message['content'] + '<|im_end|>' }}
    {%- endif %}
    {{- '\n' }}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\n' }}
{%- endif %})";

void append_message(const ChatMessage& message, std::vector<ChatPiece>& pieces) {
  const bool is_answer = message.role == ChatRole::assistant;
  pieces.push_back({std::string(kStart), true});
  pieces.push_back({std::string(to_string(message.role)) + "\n"});
  pieces.push_back({message.content, false, is_answer});
  pieces.push_back({std::string(kEnd), true, is_answer});
  pieces.push_back({"\n"});
}

void append_answer_start(std::vector<ChatPiece>& pieces) {
  pieces.push_back({std::string(kStart), true});
  pieces.push_back({"assistant\n"});
}

}  // namespace

const ChatTemplate& chatml_template() {
  static const ChatTemplate chat_template = {
      "chatml", "<|im_start|>user … <|im_end|>", {kStart, kEnd}, kEnd, "", kJinja, append_message, append_answer_start};
  return chat_template;
}

}  // namespace owlet
