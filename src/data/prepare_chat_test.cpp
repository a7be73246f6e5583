#include "data/prepare_chat.hpp"

#include <gtest/gtest.h>

#include <map>

#include "base/atomic_file.hpp"
#include "base/error.hpp"
#include "base/parallel_for.hpp"
#include "base/temporary_folder.hpp"
#include "data/instruction/instruction_rows.hpp"
#include "data/token_sequence.hpp"
#include "text/chat_template.hpp"
#include "text/tokenizer.hpp"

namespace owlet {
namespace {

namespace fs = std::filesystem;

class PrepareChatTest : public testing::Test {
 protected:
  PrepareChatOptions options(const std::string& out = "data") {
    PrepareChatOptions options;
    options.tokenizer = "bytes";
    options.out = folder_ / out;
    options.chat_jsonl = folder_ / (out + ".jsonl");
    options.validation_share = 0;
    return options;
  }

  PrepareChatResult prepare(const std::vector<Json>& rows, const PrepareChatOptions& options) {
    write_file_atomically(folder_ / "rows.json", Json(rows).dump());
    return prepare_chat(open_instruction_rows({folder_ / "rows.json"}), options);
  }

  std::string error_of(const std::vector<Json>& rows, const PrepareChatOptions& options) {
    try {
      prepare(rows, options);
    } catch (const Error& error) {
      return error.what();
    }
    return {};
  }

  /// The documents of one side as text, untrained stretches in brackets: "[<|im_start|>user…]answer<|im_end|>[…]".
  static std::vector<std::string> marked(const TokenSequence& tokens, const Tokenizer& tokenizer) {
    std::vector<int32_t> ids(tokens.num_tokens());
    std::vector<uint8_t> trained(tokens.num_tokens());
    std::vector<uint64_t> starts;
    tokens.copy_tokens(0, ids.size(), ids.data());
    tokens.copy_loss_mask(0, ids.size(), trained.data());
    tokens.append_document_starts(0, ids.size(), starts);
    starts.push_back(ids.size());
    std::vector<std::string> documents;
    for (size_t d = 0; d + 1 < starts.size(); ++d) {
      std::string text;
      for (uint64_t i = starts[d]; i < starts[d + 1]; ++i) {
        const bool begins = i == starts[d];
        if (trained[i] == 0 && (begins || trained[i - 1] == 1)) text += '[';
        if (trained[i] == 1 && !begins && trained[i - 1] == 0) text += ']';
        text += tokenizer.decode(std::vector<int32_t>{ids[i]}, false);
      }
      documents.push_back(text + (trained[starts[d + 1] - 1] == 0 ? "]" : ""));
    }
    return documents;
  }

  std::vector<std::string> marked_train(const std::string& out = "data") {
    const Dataset dataset = load_dataset(folder_ / out);
    dataset.verify();
    return marked(*dataset.train(), load_tokenizer(dataset.tokenizer_path().string()));
  }

  TemporaryFolder folder_;
};

Json alpaca(const std::string& instruction, const Json& output) {
  return {{"instruction", instruction}, {"input", ""}, {"output", output}};
}

Json messages(std::vector<std::string> contents, const std::string& system = "") {
  Json list = Json::array();
  if (!system.empty()) list.push_back({{"role", "system"}, {"content", system}});
  for (size_t i = 0; i < contents.size(); ++i) {
    list.push_back({{"role", i % 2 == 0 ? "user" : "assistant"}, {"content", contents[i]}});
  }
  return {{"messages", list}};
}

// Case D7: the mask of a system, user, assistant sample.
TEST_F(PrepareChatTest, MaskCoversAnswersAndTheirEnd) {
  const PrepareChatResult result = prepare({messages({"Hi", "Hello!", "Bye", "So long."}, "Be brief.")}, options());
  EXPECT_EQ(marked_train(),
            (std::vector<std::string>{"[<|endoftext|><|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHi"
                                      "<|im_end|>\n<|im_start|>assistant\n]Hello!<|im_end|>[\n<|im_start|>user\nBye"
                                      "<|im_end|>\n<|im_start|>assistant\n]So long.<|im_end|>[\n]"}));
  EXPECT_EQ(result.info.chat->answers, 2u);
  EXPECT_EQ(result.info.chat->trained_tokens, 6u + 1 + 8 + 1);
  EXPECT_EQ(result.new_tokens, (std::vector<std::string>{"<|im_start|>", "<|im_end|>"}));
  EXPECT_EQ(result.info.vocab_size, 259);
  EXPECT_EQ(result.info.end_of_text_id, -1);
  EXPECT_EQ(load_dataset(folder_ / "data").info().chat->trained_tokens, result.info.chat->trained_tokens);
}

TEST_F(PrepareChatTest, EveryRowIsAccountedFor) {  // case D13
  std::vector<Json> rows;
  for (int i = 0; i < 30; ++i) rows.push_back(alpaca("question " + std::to_string(i), "answer"));
  for (int i = 0; i < 4; ++i) rows.insert(rows.begin() + 3 * i, alpaca("question", nullptr));
  for (int i = 0; i < 5; ++i) rows.push_back(alpaca("question", " "));
  rows.push_back(7);
  rows.push_back({{"text", "x"}});
  const PrepareChatResult result = prepare(rows, options());
  const ChatInfo& chat = *result.info.chat;
  EXPECT_EQ(chat.rows, 40u);
  EXPECT_EQ(chat.unreadable, 1u);
  EXPECT_EQ(result.info.documents, 30u);
  EXPECT_EQ(result.info.skipped, 11u);
  EXPECT_EQ(chat.dropped.at("'output' is null").count, 4u);
  EXPECT_NE(chat.dropped.at("'output' is null").first_place.find("rows.json, row 1"), std::string::npos);
  EXPECT_EQ(chat.dropped.at("an answer is empty").count, 5u);
  EXPECT_EQ(chat.dropped.at("'instruction' is missing").count, 1u);
  const ChatInfo read = *load_dataset(folder_ / "data").info().chat;
  EXPECT_EQ(read.dropped.size(), 3u);
  EXPECT_EQ(read.dropped.at("an answer is empty").first_place, chat.dropped.at("an answer is empty").first_place);
}

TEST_F(PrepareChatTest, AllRowsBadIsAnError) {
  EXPECT_NE(error_of({alpaca("q", nullptr), alpaca("r", "")}, options())
                .find("none of 2 rows is a usable conversation: 'output' is null (1, first "),
            std::string::npos);
  EXPECT_FALSE(fs::exists(folder_ / "data"));
  EXPECT_FALSE(fs::exists(folder_ / "data.jsonl"));
  EXPECT_NE(error_of({}, options()).find("has no rows"), std::string::npos);
  EXPECT_NE(error_of({{{"foo", 1}}}, options()).find("rows with 'foo' are none of the known"), std::string::npos);
}

TEST_F(PrepareChatTest, JsonlHoldsTheConversationsAndPreparesTheSame) {
  prepare({alpaca("a", "b"), alpaca("猫", "\"x\"\n")}, options());
  EXPECT_EQ(read_file(folder_ / "data.jsonl"),
            "{\"messages\":[{\"role\":\"user\",\"content\":\"a\"},{\"role\":\"assistant\",\"content\":\"b\"}]}\n"
            "{\"messages\":[{\"role\":\"user\",\"content\":\"猫\"},{\"role\":\"assistant\",\"content\":"
            "\"\\\"x\\\"\\n\"}]}\n");
  PrepareChatOptions again = options("again");
  prepare_chat(open_instruction_rows({folder_ / "data.jsonl"}), again);
  EXPECT_EQ(read_file(folder_ / "again.jsonl"), read_file(folder_ / "data.jsonl"));
  EXPECT_EQ(read_file(folder_ / "again/train-00000.owl"), read_file(folder_ / "data/train-00000.owl"));
}

/// A conversation of three exchanges; with the byte tokenizer an exchange of contents a, b has 21 + |a| + |b| tokens.
const std::vector<std::string> kLong = {"q1", "answer one", "q2", "answer two", "q3", "answer three"};

TEST_F(PrepareChatTest, TooLongOnesStopThePreparationByDefault) {  // case D12
  PrepareChatOptions options = this->options();
  options.context = 100;
  const std::string message = error_of({messages({"q", "a"}), messages(kLong)}, options);
  EXPECT_NE(message.find("1 of 2 conversations are longer than 100 tokens, the longest has "), std::string::npos)
      << message;
  EXPECT_NE(message.find("rows.json, row 2"), std::string::npos);
  EXPECT_FALSE(fs::exists(folder_ / "data"));
}

TEST_F(PrepareChatTest, TooLongOnesAreDropped) {
  PrepareChatOptions options = this->options();
  options.context = 100;
  options.too_long = TooLong::drop;
  const PrepareChatResult result = prepare({messages({"q", "a"}), messages(kLong)}, options);
  EXPECT_EQ(result.info.documents, 1u);
  EXPECT_EQ(result.info.chat->num_too_long, 1u);
  EXPECT_EQ(result.info.chat->dropped.at("longer than 100 tokens").count, 1u);
}

TEST_F(PrepareChatTest, TooLongOnesAreSplitBetweenExchanges) {
  PrepareChatOptions options = this->options();
  options.context = 100;
  options.too_long = TooLong::split;
  const std::string huge(200, 'x');
  const PrepareChatResult result = prepare({messages(kLong, "S"), messages({"a", "b", "c", huge, "d", "e"})}, options);
  const std::string system = "[<|endoftext|><|im_start|>system\nS<|im_end|>\n<|im_start|>user\n";
  const std::string user = "[<|endoftext|><|im_start|>user\n", answer = "<|im_end|>\n<|im_start|>assistant\n]";
  const std::string next = "<|im_end|>[\n<|im_start|>user\n", end = "<|im_end|>[\n]";
  EXPECT_EQ(marked_train(),
            (std::vector<std::string>{system + "q1" + answer + "answer one" + next + "q2" + answer + "answer two" + end,
                                      system + "q3" + answer + "answer three" + end, user + "a" + answer + "b" + end,
                                      user + "d" + answer + "e" + end}));
  EXPECT_EQ(result.info.chat->num_split, 2u);
  EXPECT_EQ(result.info.chat->dropped.at("a question with its answer longer than 100 tokens").count, 1u);
  EXPECT_EQ(result.info.length_percentiles.at(100), load_dataset(folder_ / "data").info().length_percentiles.at(100));
  EXPECT_LE(result.info.length_percentiles.at(100), 100u);
  const std::string lines = read_file(folder_ / "data.jsonl");
  EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 4);
}

TEST_F(PrepareChatTest, TooLongOnesAreCutAndEndNowhere) {  // case D2
  PrepareChatOptions options = this->options();
  options.too_long = TooLong::cut;
  const std::vector<Json> rows = {messages({"question", "answer", "next", "other"})};
  const std::string whole =
      "[<|endoftext|><|im_start|>user\nquestion<|im_end|>\n<|im_start|>assistant\n]answer<|im_end|>";
  const uint64_t prompt = 1 + 1 + 5 + 8 + 1 + 1 + 1 + 10;
  options.force = true;
  options.context = prompt + 3;
  EXPECT_EQ(prepare(rows, options).info.chat->num_cut, 1u);
  EXPECT_EQ(marked_train(), (std::vector<std::string>{whole.substr(0, whole.find("]") + 4)}));
  options.context = prompt + 6 + 1 + 10;  // inside the second question
  prepare(rows, options);
  EXPECT_EQ(marked_train(), (std::vector<std::string>{whole}));
  options.context = prompt;  // no answer left
  EXPECT_NE(error_of(rows, options).find("no answer within the first"), std::string::npos);
}

TEST_F(PrepareChatTest, SameBytesWhateverTheThreads) {
  std::vector<Json> rows;
  for (int i = 0; i < 6000; ++i)
    rows.push_back(alpaca("question " + std::to_string(i % 5900), std::string(1 + i % 90, 'a')));
  std::map<int, std::string> bytes;
  const int before = num_threads();
  for (const int threads : {1, 3}) {
    set_num_threads(threads);
    PrepareChatOptions options = this->options(fmt::format("data{}", threads));
    options.validation_share = 0.1;
    options.tokens_per_shard = 100000;
    const PrepareChatResult result = prepare(rows, options);
    EXPECT_GT(result.info.train.shards.size(), 2u);
    EXPECT_NEAR(static_cast<double>(result.info.validation.documents), 600, 80);
    for (const SplitInfo* split : {&result.info.train, &result.info.validation}) {
      for (const ShardInfo& shard : split->shards) bytes[threads] += read_file(options.out / shard.file);
    }
    bytes[threads] += read_file(options.out / "data.json") + read_file(options.chat_jsonl);
  }
  set_num_threads(before);
  EXPECT_EQ(bytes[1], bytes[3]);
}

TEST_F(PrepareChatTest, SmallSetsAreSplitExactlyAndEqualOnesStayTogether) {
  std::vector<Json> rows;
  for (int i = 0; i < 40; ++i) rows.push_back(alpaca("question " + std::to_string(i / 2), "answer"));
  PrepareChatOptions options = this->options();
  options.validation_share = 0.1;
  EXPECT_EQ(prepare(rows, options).info.validation.documents, 4u);
  const Dataset dataset = load_dataset(options.out);
  const Tokenizer tokenizer = load_tokenizer(dataset.tokenizer_path().string());
  const auto train = marked(*dataset.train(), tokenizer);
  for (const std::string& document : marked(*dataset.validation(), tokenizer)) {
    EXPECT_EQ(std::count(train.begin(), train.end(), document), 0);
  }
  options.force = true;
  EXPECT_EQ(prepare({rows[0]}, options).info.validation.documents, 0u) << "one conversation is for training";
}

TEST_F(PrepareChatTest, StoriesBecomeRequests) {
  write_file_atomically(folder_ / "stories.txt",
                        "Words: cat, hat\nStory:\nA cat.\n<|endoftext|>\nSummary: A dog barks.\nStory:\nWoof.\n"
                        "<|endoftext|>\nWords: none\n<|endoftext|>\n");
  const PrepareChatResult result = prepare_chat(open_instruction_rows({folder_ / "stories.txt"}), options());
  EXPECT_EQ(result.info.chat->format, "tiny-stories-instruct");
  EXPECT_EQ(result.info.documents, 2u);
  EXPECT_EQ(result.info.chat->dropped.at("a block without 'Story:'").count, 1u);
  const std::vector<std::string> documents = marked_train();
  EXPECT_NE(documents[0].find("]A cat.<|im_end|>["), std::string::npos);
  EXPECT_NE(documents[1].find("A dog barks."), std::string::npos);
}

TEST_F(PrepareChatTest, StoriesMayComeAsRowsOfOneLine) {
  std::vector<Json> rows;
  for (const char* line : {"Words: cat, hat", "Story: ", "", "A cat.", "A hat.", "<|endoftext|>", "", "Summary: A dog.",
                           "Story:", "Woof.", " <|endoftext|> ", "<|endoftext|>", "Words: end", "Story: End."}) {
    rows.push_back({{"text", line}});
  }
  const PrepareChatResult result = prepare(rows, options());
  EXPECT_EQ(result.info.chat->rows, 3u);
  const std::vector<std::string> documents = marked_train();
  ASSERT_EQ(documents.size(), 3u);
  EXPECT_NE(documents[0].find("]A cat.\nA hat.<|im_end|>["), std::string::npos) << documents[0];
  EXPECT_NE(documents[2].find("]End.<|im_end|>["), std::string::npos);
}

TEST_F(PrepareChatTest, TemplatesOfTheTokenizerAreKept) {
  PrepareChatOptions options = this->options();
  options.chat_template = "llama3";
  prepare({alpaca("a", "b")}, options);
  PrepareChatOptions again = this->options("again");
  again.tokenizer = (options.out / "tokenizer").string();
  const PrepareChatResult result = prepare({alpaca("a", "b")}, again);
  EXPECT_EQ(result.info.chat->chat_template, "llama3");
  EXPECT_TRUE(result.new_tokens.empty());
  EXPECT_EQ(marked_train("again")[0].find("[<|begin_of_text|><|start_header_id|>user"), 0u);
}

TEST_F(PrepareChatTest, JsonlMayLieInTheDataFolder) {
  PrepareChatOptions options = this->options();
  options.chat_jsonl = folder_ / "data/chat.jsonl";
  options.force = true;
  for (int i = 0; i < 2; ++i) prepare({alpaca("a", "b")}, options);
  EXPECT_NE(read_file(folder_ / "data/chat.jsonl").find("\"b\""), std::string::npos);
  EXPECT_EQ(load_dataset(folder_ / "data").info().documents, 1u);
}

TEST_F(PrepareChatTest, NothingIsReplacedUnasked) {
  prepare({alpaca("a", "b")}, options());
  EXPECT_NE(error_of({alpaca("a", "b")}, options()).find("exists already"), std::string::npos);
  fs::remove_all(folder_ / "data");
  EXPECT_NE(error_of({alpaca("a", "b")}, options()).find("data.jsonl' exists already"), std::string::npos);
}

}  // namespace
}  // namespace owlet
