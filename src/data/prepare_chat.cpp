#include "data/prepare_chat.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/atomic_file.hpp"
#include "base/error.hpp"
#include "base/parallel_for.hpp"
#include "data/corpus_split.hpp"
#include "data/document_lengths.hpp"
#include "data/instruction/conversation_reader.hpp"
#include "data/prepare.hpp"
#include "data/split_writer.hpp"
#include "text/tokenizer.hpp"

namespace owlet {
namespace fs = std::filesystem;
namespace {

// Below this many conversations the validation share is met exactly; above it, by the law of large numbers.
constexpr size_t kExactSplit = 4096;
constexpr size_t kChunkConversations = 1024;
constexpr uint64_t kChunkBytes = uint64_t{4} << 20;
constexpr int64_t kConversationsPerRange = 8;
constexpr double kDefaultShare = 0.05;

struct PendingConversation {
  Conversation conversation;
  uint64_t bytes = 0, split_hash = 0;
};

uint64_t content_bytes(const std::vector<ChatMessage>& messages) {
  uint64_t bytes = 0;
  for (const ChatMessage& message : messages) bytes += message.content.size();
  return bytes;
}

/// Conversations validate whose hash is below this.
uint64_t validation_threshold(const std::vector<PendingConversation>& first, bool is_all, double share) {
  if (share <= 0) return 0;
  if (!is_all) return static_cast<uint64_t>(std::ldexp(share, 64));
  std::vector<uint64_t> hashes;
  for (const PendingConversation& pending : first) hashes.push_back(pending.split_hash);
  std::sort(hashes.begin(), hashes.end());
  hashes.erase(std::unique(hashes.begin(), hashes.end()), hashes.end());
  if (hashes.size() < 2) return 0;
  const auto wanted = static_cast<size_t>(std::llround(share * static_cast<double>(hashes.size())));
  return hashes[std::clamp<size_t>(wanted, 1, hashes.size() - 1)];
}

/// One preparation under way.
class ChatPreparation {
 public:
  ChatPreparation(ConversationReader& reader, const ChatRenderer& renderer, const fs::path& folder,
                  const PrepareChatOptions& options)
      : reader_(reader),
        renderer_(renderer),
        options_(options),
        train_(folder, "train", shard_kind(renderer.tokenizer()), options.tokens_per_shard),
        validation_(folder, "validation", shard_kind(renderer.tokenizer()), options.tokens_per_shard) {
    for (const SourceFile& file : reader.rows().files()) progress_.total_bytes += file.bytes;
    if (!options.chat_jsonl.empty()) jsonl_.emplace(jsonl_path(options, folder));
  }

  void run() {
    std::vector<PendingConversation> pending;
    uint64_t pending_bytes = 0;
    std::optional<uint64_t> threshold;
    Conversation conversation;
    while (reader_.next(conversation)) {
      PendingConversation& added = pending.emplace_back();
      added.bytes = content_bytes(conversation.messages);
      added.split_hash = document_split_hash(options_.seed, to_json_line(conversation.messages));
      added.conversation = std::move(conversation);
      pending_bytes += added.bytes;
      if (!threshold && pending.size() < kExactSplit) continue;
      if (!threshold) threshold = validation_threshold(pending, false, share());
      if (pending.size() < kChunkConversations && pending_bytes < kChunkBytes) continue;
      write(pending, *threshold);
      pending.clear();
      pending_bytes = 0;
    }
    if (!threshold) threshold = validation_threshold(pending, true, share());
    write(pending, *threshold);
  }

  /// Fills in what is known of the data, and throws where nothing is left or nothing may be left out.
  void finish(DatasetInfo& info) {
    ChatInfo& chat = chat_;
    chat.rows = reader_.num_rows();
    chat.unreadable = reader_.rows().num_skipped();
    chat.dropped = reader_.dropped();
    chat.open_questions = reader_.num_open_questions();
    check_too_long();
    info.train = train_.finish();
    info.validation = validation_.finish();
    info.documents = info.train.documents + info.validation.documents;
    check_not_empty(info.documents);
    chat.trained_tokens = train_.num_trained_tokens() + validation_.num_trained_tokens();
    info.skipped = reader_.num_dropped() + chat.unreadable;
    info.tokens = info.train.tokens + info.validation.tokens;
    info.bytes = info.train.bytes + info.validation.bytes;
    info.bytes_per_token = static_cast<double>(info.bytes) / static_cast<double>(info.tokens);
    info.validation_share = share();
    lengths_.fill(info);
    info.chat = chat;
  }

  void commit_jsonl() {
    if (jsonl_) jsonl_->commit();
  }

 private:
  static ShardKind shard_kind(const Tokenizer& tokenizer) {
    // No end-of-text id: what a conversation begins with is among its tokens.
    return {static_cast<uint64_t>(tokenizer.vocab_size()), tokenizer.fingerprint(), -1, true};
  }

  /// A file wanted in the data folder is written where that is being made.
  static fs::path jsonl_path(const PrepareChatOptions& options, const fs::path& folder) {
    const fs::path path = fs::absolute(options.chat_jsonl).lexically_normal();
    const bool is_inside = path.parent_path() == (fs::absolute(options.out) / "").lexically_normal().parent_path();
    return is_inside ? folder / path.filename() : options.chat_jsonl;
  }

  double share() const { return options_.validation_share < 0 ? kDefaultShare : options_.validation_share; }

  void write(std::vector<PendingConversation>& pending, uint64_t threshold) {
    std::vector<ContextFit> fits(pending.size());
    parallel_for(static_cast<int64_t>(pending.size()), kConversationsPerRange, [&](int64_t begin, int64_t end) {
      for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) {
        fits[i] =
            fit_to_context(std::move(pending[i].conversation.messages), renderer_, options_.context, options_.too_long);
      }
    });
    for (size_t i = 0; i < pending.size(); ++i) {
      store(fits[i], pending[i].conversation.place, pending[i].split_hash < threshold ? validation_ : train_);
    }
    progress_.bytes = reader_.rows().bytes_read();
    if (options_.on_progress) options_.on_progress(progress_);
  }

  void store(const ContextFit& fit, const std::string& place, SplitWriter& side) {
    count(fit, place);
    for (const StoredConversation& stored : fit.stored) {
      side.add(stored.chat.tokens, stored.chat.is_trained, content_bytes(stored.messages));
      lengths_.add(stored.chat.tokens.size());
      for (const ChatMessage& message : stored.messages) chat_.answers += message.role == ChatRole::assistant ? 1 : 0;
      if (jsonl_) jsonl_->write(to_json_line(stored.messages) + "\n");
      progress_.conversations += 1;
      progress_.tokens += stored.chat.tokens.size();
    }
  }

  void count(const ContextFit& fit, const std::string& place) {
    if (!fit.was_too_long) return;
    if (chat_.num_too_long++ == 0) first_too_long_ = place;
    longest_ = std::max(longest_, fit.num_tokens);
    chat_.num_cut += fit.was_cut ? 1 : 0;
    chat_.num_split += fit.was_split ? 1 : 0;
    const std::string longer = fmt::format("longer than {} tokens", options_.context);
    if (options_.too_long == TooLong::split) {
      for (uint64_t i = 0; i < fit.exchanges_dropped; ++i) reader_.drop("a question with its answer " + longer, place);
    } else if (fit.stored.empty() && options_.too_long == TooLong::cut) {
      reader_.drop("no answer within the first " + fmt::format("{} tokens", options_.context), place);
    } else if (fit.stored.empty()) {
      reader_.drop(longer, place);
    }
  }

  void check_too_long() const {
    if (options_.too_long != TooLong::error || chat_.num_too_long == 0) return;
    throw Error(
        ErrorKind::invalid_argument,
        fmt::format("{} of {} conversations are longer than {} tokens, the longest has {}, the first is {}",
                    chat_.num_too_long, chat_.num_too_long + progress_.conversations, options_.context, longest_,
                    first_too_long_),
        "--too-long drop leaves them out, cut shortens them, split makes several of each; or a larger --context");
  }

  void check_not_empty(uint64_t num_stored) const {
    if (num_stored > 0) return;
    std::string reasons;
    for (const auto& [reason, rows] : chat_.dropped) {
      reasons += fmt::format("{}{} ({}, first {})", reasons.empty() ? "" : "; ", reason, rows.count, rows.first_place);
    }
    if (chat_.unreadable > 0) reasons += fmt::format("{}{} unreadable", reasons.empty() ? "" : "; ", chat_.unreadable);
    throw Error(ErrorKind::invalid_argument,
                fmt::format("none of {} rows is a usable conversation: {}", chat_.rows + chat_.unreadable,
                            reasons.empty() ? "there are none" : reasons),
                fmt::format("they were read as '{}': {}; --format names another", reader_.format().name,
                            reader_.format().fields));
  }

  ConversationReader& reader_;
  const ChatRenderer& renderer_;
  const PrepareChatOptions& options_;
  SplitWriter train_, validation_;
  std::optional<AtomicFile> jsonl_;
  DocumentLengths lengths_;
  ChatInfo chat_;
  uint64_t longest_ = 0;
  std::string first_too_long_;
  PrepareChatProgress progress_;
};

const ChatTemplate& choose_template(const std::string& name, const Tokenizer& tokenizer) {
  if (name != "auto") return find_chat_template(name);
  const ChatTemplate* own = find_chat_template(tokenizer);
  return own != nullptr ? *own : *chat_templates()[0];
}

void check_options(const PrepareChatOptions& options) {
  check(!options.out.empty(), ErrorKind::invalid_argument, "no data folder given");
  check(options.tokens_per_shard > 0, ErrorKind::invalid_argument, "0 tokens per shard, expected at least 1");
  check(options.validation_share < 1, ErrorKind::invalid_argument, "validation share {}, expected below 1",
        options.validation_share);
  check_data_folder_target(options.out, options.force);
  if (!options.chat_jsonl.empty() && fs::exists(options.chat_jsonl) && !options.force) {
    throw Error(ErrorKind::invalid_argument, fmt::format("the file '{}' exists already", options.chat_jsonl.string()),
                "--force replaces it");
  }
}

}  // namespace

PrepareChatResult prepare_chat(std::unique_ptr<RecordSource> rows, const PrepareChatOptions& options) {
  check_options(options);
  const Tokenizer base = load_tokenizer(options.tokenizer);
  const ChatTemplate& chat_template = choose_template(options.chat_template, base);
  PrepareChatResult result;
  result.replaces_template = !base.definition().chat_template.empty() && find_chat_template(base) == nullptr;
  ChatTokenizer chat = add_chat_template(base, chat_template);
  result.new_tokens = std::move(chat.new_tokens);
  const Tokenizer& tokenizer = chat.tokenizer;
  const ChatRenderer renderer(tokenizer, chat_template);
  ConversationReader reader(std::move(rows), options.format, options.seed);

  const fs::path parent = fs::absolute(options.out).lexically_normal().parent_path();
  std::error_code error;
  fs::create_directories(options.out.has_filename() ? parent : parent.parent_path(), error);
  check(!error, ErrorKind::io, "cannot create the folder of '{}': {}", options.out.string(), error.message());
  AtomicFolder folder(options.out);
  ChatPreparation preparation(reader, renderer, folder.working_path(), options);
  preparation.run();

  DatasetInfo& info = result.info;
  preparation.finish(info);
  info.tokenizer_fingerprint = fmt::format("{:016x}", tokenizer.fingerprint());
  info.vocab_size = tokenizer.vocab_size();
  info.separator = "conversations";
  info.split = "documents";
  info.seed = options.seed;
  info.sources = reader.rows().files();
  info.chat->format = reader.format().name;
  info.chat->chat_template = chat_template.name;
  info.chat->context = options.context;
  info.chat->too_long = to_string(options.too_long);
  tokenizer.save(folder.working_path() / "tokenizer");
  write_file_atomically(folder.working_path() / "data.json", dataset_info_to_json(info));
  preparation.commit_jsonl();
  folder.commit();
  return result;
}

}  // namespace owlet
