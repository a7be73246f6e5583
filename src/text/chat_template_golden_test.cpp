// Conversations against transformers' apply_chat_template; the files come from tools/golden/chat_goldens.py.
#include <gtest/gtest.h>

#include <filesystem>

#include "base/json.hpp"
#include "base/temporary_folder.hpp"
#include "text/chat_template.hpp"

namespace owlet {
namespace {

namespace fs = std::filesystem;

const fs::path kGolden = fs::path(OWLET_SOURCE_DIR) / "tests/golden/text";

std::vector<ChatMessage> messages_of(const Json& list) {
  std::vector<ChatMessage> messages;
  for (const Json& item : list) {
    const auto role = item["role"].get<std::string>();
    messages.push_back({role == "system" ? ChatRole::system
                        : role == "user" ? ChatRole::user
                                         : ChatRole::assistant,
                        item["content"].get<std::string>()});
  }
  return messages;
}

class ChatTemplateGolden : public testing::TestWithParam<std::string> {};

TEST_P(ChatTemplateGolden, TextIdsAndMaskAreThoseOfTransformers) {
  const Json golden = read_json(kGolden / "chat" / (GetParam() + ".json"));
  const ChatTemplate& chat_template = find_chat_template(GetParam());
  const Tokenizer tokenizer = add_chat_template(load_tokenizer((kGolden / "own").string()), chat_template).tokenizer;
  const TemporaryFolder folder;
  tokenizer.save(folder.path());
  EXPECT_EQ(read_json(folder / "tokenizer_config.json"), golden["config"]) << "run tools/golden/chat_goldens.py again";
  EXPECT_EQ(tokenizer.vocab_size(), golden["vocab_size"]);
  EXPECT_EQ(tokenizer.end_ids()[0], golden["eos_id"]);

  const ChatRenderer renderer(tokenizer, chat_template);
  ASSERT_GE(golden["cases"].size(), 5u);
  for (const Json& one : golden["cases"]) {
    const std::vector<ChatMessage> messages = messages_of(one["messages"]);
    SCOPED_TRACE(one["messages"].dump());
    EXPECT_EQ(renderer.render_text(messages), one["text"]);
    const RenderedChat chat = renderer.render(messages);
    EXPECT_EQ(Json(chat.tokens), one["ids"]);
    EXPECT_EQ(Json(std::vector<int>(chat.is_trained.begin(), chat.is_trained.end())), one["mask"]);
    EXPECT_EQ(Json(renderer.render_prompt(std::span(messages).first(messages.size() - 1))), one["prompt_ids"]);
  }
}

INSTANTIATE_TEST_SUITE_P(Templates, ChatTemplateGolden, testing::Values("chatml", "llama3"));

}  // namespace
}  // namespace owlet
