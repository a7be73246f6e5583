#include "data/instruction/instruction_format.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "data/instruction/conversation.hpp"

namespace owlet {
namespace {

/// The format that recognises the row, and what it reads, as "format|U:…|A:…"; or "format!reason".
std::string read(const std::string& text, const RowDraw& draw = {}) {
  const Json row = parse_json(text, "row");
  const InstructionFormat* format = recognise_instruction_format(row);
  if (format == nullptr) return "none";
  try {
    std::vector<ChatMessage> messages = format->read(row, draw);
    std::string result(format->name);
    if (normalise_messages(messages)) result += "(open)";
    for (const ChatMessage& message : messages) {
      const char letter = message.role == ChatRole::system ? 'S' : message.role == ChatRole::user ? 'U' : 'A';
      result += fmt::format("|{}:{}", letter, message.content);
    }
    return result;
  } catch (const Error& error) {
    return fmt::format("{}!{}", format->name, error.what());
  }
}

std::string read_with(std::string_view name, const std::string& text) {
  try {
    find_instruction_format(name).read(parse_json(text, "row"), {});
  } catch (const Error& error) {
    return error.what();
  }
  return "read";
}

TEST(InstructionFormat, Messages) {
  EXPECT_EQ(read(R"({"messages":[{"role":"user","content":"q"},{"role":"assistant","content":"a"}],"id":7})"),
            "messages|U:q|A:a");
  EXPECT_EQ(read(R"({"messages":[{"role":"system","content":"s"},{"role":"user","content":"q"},
                     {"role":"assistant","content":"a"},{"role":"user","content":"r"},
                     {"role":"assistant","content":"b"}]})"),
            "messages|S:s|U:q|A:a|U:r|A:b");
  EXPECT_EQ(read(R"({"messages":[{"role":"developer","content":"s"},{"role":"user","content":"q"},
                     {"role":"assistant","content":"a"},{"role":"user","content":"r"}]})"),
            "messages(open)|S:s|U:q|A:a");
  // Case F14: content as parts.
  EXPECT_EQ(read(R"({"messages":[{"role":"user","content":[{"type":"text","text":"a"},"b",{"text":"c"}]},
                     {"role":"assistant","content":[{"type":"text","text":"x"}]}]})"),
            "messages|U:abc|A:x");
  EXPECT_EQ(read(R"({"messages":[{"role":"user","content":[{"type":"image_url","image_url":"x"}]},
                     {"role":"assistant","content":"a"}]})"),
            "messages!a message has a part that is no text");
}

TEST(InstructionFormat, BadMessages) {  // case D13
  const auto bad = [](const std::string& list) { return read(R"({"messages":)" + list + "}"); };
  const std::string user = R"({"role":"user","content":"q"})", answer = R"({"role":"assistant","content":"a"})";
  EXPECT_EQ(bad("[]"), "messages!no assistant turn");
  EXPECT_EQ(bad("[" + user + "]"), "messages!no assistant turn");
  EXPECT_EQ(bad("[" + user + "," + user + "," + answer + "]"), "messages!two user turns in a row");
  EXPECT_EQ(bad("[" + user + "," + answer + "," + answer + "]"), "messages!two assistant turns in a row");
  EXPECT_EQ(bad("[" + answer + "," + user + "," + answer + "]"), "messages!the first turn is the assistant's");
  EXPECT_EQ(bad("[" + user + R"(,{"role":"assistant","content":null}])"), "messages!an answer is null");
  EXPECT_EQ(bad("[" + user + R"(,{"role":"assistant","tool_calls":[]}])"), "messages!an answer is null");
  EXPECT_EQ(bad("[" + user + R"(,{"role":"assistant","content":" \n"}])"), "messages!an answer is empty");
  EXPECT_EQ(bad(R"([{"role":"user","content":""},)" + answer + "]"), "messages!a user turn is empty");
  EXPECT_EQ(bad(R"([{"role":"user","content":3},)" + answer + "]"), "messages!the content of a message is no text");
  EXPECT_EQ(bad(R"([{"role":"tool","content":"x"},)" + answer + "]"), "messages!unknown role 'tool'");
  EXPECT_EQ(bad(R"([{"role":null,"content":"x"},)" + answer + "]"), "messages!a message without a role");
  EXPECT_EQ(bad("[" + user + R"(,{"role":"system","content":"s"},)" + answer + "]"),
            "messages!a system message behind the first message");
  EXPECT_EQ(bad("[1]"), "messages!a message is no object");
  EXPECT_EQ(bad(R"([{"role":")" + std::string(1000, 'x') + R"(","content":"x"}])"),
            "messages!unknown role '(a long text)'");
  EXPECT_EQ(read_with("messages", R"({"text":"x"})"), "'messages' is missing");
  EXPECT_EQ(read_with("messages", R"({"messages":{}})"), "the messages are no list");
}

TEST(InstructionFormat, BlankSystemMessagesDoNotCount) {
  EXPECT_EQ(read(R"({"messages":[{"role":"system","content":" "},{"role":"user","content":"q"},
                     {"role":"assistant","content":"a"}]})"),
            "messages|U:q|A:a");
}

TEST(InstructionFormat, ShareGpt) {
  EXPECT_EQ(read(R"({"conversations":[{"from":"human","value":"q"},{"from":"gpt","value":"a"}]})"), "sharegpt|U:q|A:a");
  EXPECT_EQ(read(R"({"system":"s","conversations":[{"from":"user","value":"q"},{"from":"chatgpt","value":"a"}]})"),
            "sharegpt|S:s|U:q|A:a");
  EXPECT_EQ(read(R"({"conversation":[{"role":"user","content":"q"},{"role":"assistant","content":"a"}]})"),
            "sharegpt|U:q|A:a");
  EXPECT_EQ(read(R"({"conversations":[{"from":"gpt","value":"a"},{"from":"human","value":"q"}]})"),
            "sharegpt!the first turn is the assistant's");
  EXPECT_EQ(read(R"({"conversations":[{"from":"human","value":"q"},{"from":"function_call","value":"a"}]})"),
            "sharegpt!unknown role 'function_call'");
}

TEST(InstructionFormat, Alpaca) {
  EXPECT_EQ(read(R"({"instruction":"i","input":"n","output":"o"})"), "alpaca|U:i\n\nn|A:o");
  EXPECT_EQ(read(R"({"instruction":"i","input":"","output":"o","text":"x"})"), "alpaca|U:i|A:o");
  EXPECT_EQ(read(R"({"instruction":"i","output":"o","system":"s"})"), "alpaca|S:s|U:i|A:o");
  EXPECT_EQ(read(R"({"instruction":"i","input":null,"output":null})"), "alpaca!'output' is null");
  EXPECT_EQ(read(R"({"instruction":"i","output":["o"]})"), "alpaca!'output' is no text");
  EXPECT_EQ(read(R"({"instruction":"i","output":"o","history":[["q","a"]]})"), "alpaca|U:q|A:a|U:i|A:o");
  EXPECT_EQ(read(R"({"instruction":"i","output":"o","history":["q"]})"),
            "alpaca!'history' holds something else than pairs");
}

TEST(InstructionFormat, Dolly) {
  EXPECT_EQ(read(R"({"instruction":"i","context":"c","response":"r","category":"open_qa"})"), "dolly|U:i\n\nc|A:r");
  EXPECT_EQ(read(R"({"instruction":"i","context":"","response":"r","category":"open_qa"})"), "dolly|U:i|A:r");
  EXPECT_EQ(read(R"({"instruction":"i","response":""})"), "dolly!an answer is empty");
}

TEST(InstructionFormat, PromptAndCompletion) {
  EXPECT_EQ(read(R"({"prompt":"p","completion":"c"})"), "prompt-completion|U:p|A:c");
  EXPECT_EQ(read(R"({"id":"1","system_prompt":"s","question":"q","response":"r"})"), "prompt-completion|S:s|U:q|A:r");
  EXPECT_EQ(read(R"({"system_prompt":"","question":"q","answer":"r"})"), "prompt-completion|U:q|A:r");
  EXPECT_EQ(read(R"({"prompt":[{"role":"user","content":"p"}],"completion":[{"role":"assistant","content":"c"}]})"),
            "prompt-completion|U:p|A:c");
  EXPECT_EQ(read(R"({"prompt":[],"completion":[]})"), "prompt-completion!no assistant turn");
  EXPECT_EQ(read(R"({"prompt":"p","completion":null})"), "prompt-completion!'completion' is null");
}

TEST(InstructionFormat, PreferenceTakesTheChosenAnswer) {
  EXPECT_EQ(read(R"({"prompt":"p","chosen":"c","rejected":"r"})"), "preference|U:p|A:c");
  EXPECT_EQ(read(R"({"instruction":"i","input":"n","output":"o","rejected":"r","chosen":"c"})"),
            "preference|U:i\n\nn|A:c");
  EXPECT_EQ(read(R"({"prompt":"p","rejected":[],"chosen":[{"role":"user","content":"p"},
                     {"role":"assistant","content":"c"}]})"),
            "preference|U:p|A:c");
  EXPECT_EQ(read(R"({"chosen":"\n\nHuman: q\n\nAssistant: a","rejected":"x"})"),
            "preference!no prompt beside the chosen answer");
}

TEST(InstructionFormat, Turns) {
  EXPECT_EQ(read(R"({"id":"0","data":["q","a","r","b"]})"), "turns|U:q|A:a|U:r|A:b");
  EXPECT_EQ(read(R"({"data":["q","a","r"]})"), "turns(open)|U:q|A:a");
  EXPECT_EQ(read(R"({"data":["q",null]})"), "turns!an answer is null");
}

TEST(InstructionFormat, UnknownRowsAndNames) {
  EXPECT_EQ(read(R"({"foo":1})"), "none");
  EXPECT_EQ(read(R"({"text":"Once upon a time"})"), "none");
  EXPECT_EQ(read(R"([1])"), "none");
  EXPECT_EQ(read(R"({"messages":"x"})"), "none");
  EXPECT_THROW(find_instruction_format("alpac"), Error);
  EXPECT_EQ(find_instruction_format("alpaca").name, "alpaca");
}

TEST(InstructionFormat, NormalisedLineReadsBackTheSame) {
  const std::vector<ChatMessage> messages = {
      {ChatRole::system, "s"}, {ChatRole::user, "q \"x\"\n\t\\ 猫"}, {ChatRole::assistant, "<|im_end|>"}};
  const std::string line = to_json_line(messages);
  EXPECT_EQ(line.find('\n'), std::string::npos);
  const Json row = parse_json(line, "line");
  EXPECT_EQ(recognise_instruction_format(row)->name, "messages");
  EXPECT_EQ(recognise_instruction_format(row)->read(row, {}), messages);
}

}  // namespace
}  // namespace owlet
