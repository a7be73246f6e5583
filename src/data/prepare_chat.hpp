// From an instruction set to a data folder of conversations: shards with a loss mask, data.json with the section
// "chat", a tokenizer that knows the chat template, and, where wanted, the conversations as chat JSONL.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "data/dataset.hpp"
#include "data/instruction/context_fit.hpp"
#include "data/record_source.hpp"

namespace owlet {

struct PrepareChatProgress {
  uint64_t bytes = 0, total_bytes = 0;  ///< of the files
  uint64_t conversations = 0, tokens = 0;
};

struct PrepareChatOptions {
  std::string tokenizer;               ///< a tokenizer folder or file, or "bytes"
  std::string chat_template = "auto";  ///< a name of chat_templates(); auto: the tokenizer's, otherwise the first
  std::string format = "auto";         ///< a name of instruction_formats(); auto: from the first rows
  std::filesystem::path out;           ///< the data folder
  std::filesystem::path chat_jsonl;    ///< file for the conversations, one a line in the messages format; empty: none
  uint64_t context = 0;                ///< tokens a conversation may have; 0: any number
  TooLong too_long = TooLong::error;
  double validation_share = -1;  ///< of the conversations, in [0, 1); negative: 0.05
  uint64_t seed = 0;             ///< of the split, and of the phrasing of requests
  uint64_t tokens_per_shard = uint64_t{1} << 28;
  bool force = false;                                           ///< replace an existing data folder and JSONL file
  std::function<void(const PrepareChatProgress&)> on_progress;  ///< called between chunks; may throw to cancel
};

struct PrepareChatResult {
  DatasetInfo info;
  std::vector<std::string> new_tokens;  ///< control tokens the tokenizer had to get
  bool replaces_template = false;       ///< the tokenizer carried a chat template that is none of ours
};

/// Reads all conversations of `rows`, renders them in parallel in bounded memory and writes the data folder at once at
/// the end. Equal conversations go to the same side of the split. The files are the same bytes whatever the number of
/// threads. Each row is accounted for: stored, or dropped with a reason.
/// Throws invalid_argument (no usable row: with the reasons; long conversations under TooLong::error: with their
/// number; folder or file there without force), what reading throws, and io.
PrepareChatResult prepare_chat(std::unique_ptr<RecordSource> rows, const PrepareChatOptions& options);

}  // namespace owlet
