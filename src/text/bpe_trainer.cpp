#include "text/bpe_trainer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/error.hpp"
#include "text/bpe_merger.hpp"
#include "text/byte_alphabet.hpp"

namespace owlet {

namespace {

constexpr int32_t kProgressInterval = 256;  // tokens

// The vocabulary under construction.
class VocabBuilder {
 public:
  explicit VocabBuilder(const std::vector<std::string>& special_tokens) {
    for (const std::string& content : special_tokens) {
      const auto id = static_cast<int32_t>(vocab_.size());
      check(!content.empty() && ids_.find(content) == nullptr, ErrorKind::invalid_argument,
            "special token {} is '{}', which is empty or a repetition", id, content);
      added_tokens_.push_back({.content = content, .id = id});
      append(content);
    }
    for (const uint8_t byte : bytes_in_alphabet_order()) {
      const char bytes[1] = {static_cast<char>(byte)};
      const std::string spelled = spell_bytes({bytes, 1});
      check(ids_.find(spelled) == nullptr, ErrorKind::invalid_argument,
            "special token '{}' is the spelling of the byte {}", spelled, byte);
      byte_ids_[byte] = append(spelled);
    }
  }

  int32_t size() const { return static_cast<int32_t>(vocab_.size()); }
  int32_t byte_id(uint8_t byte) const { return byte_ids_[byte]; }

  /// Records a merge and gives the id of its result: a new one, or an old one where other merges lead to the same
  /// token.
  int32_t add_merge(int32_t left, int32_t right) {
    const std::string merged = vocab_[static_cast<size_t>(left)] + vocab_[static_cast<size_t>(right)];
    merges_.emplace_back(left, right);
    const int32_t* known = ids_.find(merged);
    return known != nullptr ? *known : append(merged);
  }

  TokenizerDefinition finish(const std::string& splitter) && {
    TokenizerDefinition definition;
    definition.splitter = splitter;
    definition.vocab = std::move(vocab_);
    definition.merges = std::move(merges_);
    definition.added_tokens = std::move(added_tokens_);
    return definition;
  }

 private:
  int32_t append(const std::string& spelled) {
    const int32_t id = size();
    ids_[spelled] = id;
    vocab_.push_back(spelled);
    return id;
  }

  std::vector<std::string> vocab_;
  WordMap<int32_t> ids_;
  std::vector<std::pair<int32_t, int32_t>> merges_;
  std::vector<AddedToken> added_tokens_;
  std::array<int32_t, 256> byte_ids_{};
};

// Words as ids of bytes. Throws where pair counts could exceed 64 bits.
BpeMerger make_merger(const WordCounter& words, const VocabBuilder& vocab, int64_t least_count) {
  BpeMerger merger(least_count);
  std::vector<int32_t> ids;
  int64_t total = 0;
  words.for_each([&](std::string_view word, int64_t count) {
    int64_t occurrences = 0;
    const bool is_too_many = __builtin_mul_overflow(count, static_cast<int64_t>(word.size()), &occurrences) ||
                             __builtin_add_overflow(total, occurrences, &total);
    check(!is_too_many, ErrorKind::invalid_argument, "the words have more than 2^63 bytes in all; '{}' occurs {} times",
          word, count);
    if (word.size() < 2) return;
    ids.clear();
    for (const char byte : word) ids.push_back(vocab.byte_id(static_cast<uint8_t>(byte)));
    merger.add_word(ids, count);
  });
  merger.count_pairs();
  return merger;
}

}  // namespace

BpeTrainer::BpeTrainer(BpeTrainerOptions options) : options_(std::move(options)), words_(options_.words) {
  const size_t least = 256 + options_.special_tokens.size();
  check(options_.vocab_size >= 0 && static_cast<size_t>(options_.vocab_size) >= least, ErrorKind::invalid_argument,
        "vocab_size is {}, the least is {} (256 bytes and {} special tokens)", options_.vocab_size, least,
        options_.special_tokens.size());
  check(options_.min_frequency >= 1, ErrorKind::invalid_argument, "min_frequency is {}, the least is 1",
        options_.min_frequency);
}

BpeTrainingResult BpeTrainer::train() {
  words_.finish();
  BpeTrainingResult result;
  result.num_documents = words_.num_documents();
  result.num_bytes = words_.num_bytes();
  result.num_distinct_words = static_cast<int64_t>(words_.num_distinct_words());
  VocabBuilder vocab(options_.special_tokens);
  BpeMerger merger = make_merger(words_, vocab, options_.min_frequency);
  words_.forget_words();
  while (vocab.size() < options_.vocab_size) {
    const PairCount best = merger.take_best_pair();
    if (best.count < options_.min_frequency) {
      result.stopped_early = true;
      break;
    }
    merger.merge(best.left, best.right, vocab.add_merge(best.left, best.right));
    if (options_.on_progress && vocab.size() % kProgressInterval == 0)
      options_.on_progress(vocab.size(), options_.vocab_size);
  }
  result.definition = std::move(vocab).finish(options_.words.splitter);
  result.notes = make_notes(result);
  return result;
}

std::vector<std::string> BpeTrainer::make_notes(const BpeTrainingResult& result) const {
  std::vector<std::string> notes;
  if (result.stopped_early) {
    notes.push_back(fmt::format(
        "The vocabulary has {} tokens, not {}: no further pair occurs {} times in {} distinct words.",
        result.definition.vocab.size(), options_.vocab_size, options_.min_frequency, result.num_distinct_words));
  }
  if (words_.num_cut_words() > 0) {
    notes.push_back(fmt::format("{} pieces of words longer than {} bytes were counted as words of their own.",
                                words_.num_cut_words(), options_.words.max_word_bytes));
  }
  if (words_.num_dropped_words() > 0) {
    notes.push_back(fmt::format("{} rare words were left out to stay within {} MiB.", words_.num_dropped_words(),
                                options_.words.memory_limit_bytes >> 20));
  }
  return notes;
}

}  // namespace owlet
