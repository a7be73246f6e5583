// Training of byte-level BPE vocabularies (Sennrich, Haddow, Birch 2016; on bytes: Radford et al. 2019).
//
//   BpeTrainer trainer({.vocab_size = 4096});
//   for (std::string_view document : documents) trainer.add_document(document);
//   BpeTrainingResult result = trainer.train();
//   Tokenizer(result.definition).save("tokenizer");
//
// Ids: special tokens first (kEndOfText is 0), then the 256 bytes in the order of the byte-level alphabet, then one
// token for each merge. This is the layout of the `tokenizers` package's BpeTrainer with ByteLevel.alphabet(), and the
// merges are the same too: of the pairs with the highest count the one with the smallest (left id, right id) is merged.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "text/tokenizer_definition.hpp"
#include "text/word_counter.hpp"

namespace owlet {

struct BpeTrainerOptions {
  /// Tokens wanted in all, special tokens and bytes included.
  int32_t vocab_size = 4096;
  /// Pairs that occur less often are not merged.
  int64_t min_frequency = 2;
  std::vector<std::string> special_tokens = {std::string(kEndOfText)};
  WordCounterOptions words = {};
  /// Called now and then with the tokens made so far and the tokens wanted.
  std::function<void(int32_t num_tokens, int32_t target)> on_progress = {};
};

struct BpeTrainingResult {
  TokenizerDefinition definition;
  int64_t num_documents = 0, num_bytes = 0, num_distinct_words = 0;
  bool stopped_early = false;      ///< no pair was frequent enough before vocab_size was reached
  std::vector<std::string> notes;  ///< sentences for the person: stopped early, words cut, words dropped
};

/// Collects words and makes a vocabulary of them. The result is the same for any number of threads. All 256 bytes are
/// tokens, so that every text can be encoded. One object serves one thread and one training.
class BpeTrainer {
 public:
  /// Throws Error invalid_argument where vocab_size cannot hold the bytes and special tokens, or special tokens repeat.
  explicit BpeTrainer(BpeTrainerOptions options);

  void add_document(std::string_view text) { words_.add_document(text); }
  /// Adds a word as the splitter would give it, `count` > 0 times.
  void add_word(std::string_view word, int64_t count) { words_.add_word(word, count); }

  /// To be called once: the words are gone afterwards.
  BpeTrainingResult train();

 private:
  std::vector<std::string> make_notes(const BpeTrainingResult& result) const;

  BpeTrainerOptions options_;
  WordCounter words_;
};

}  // namespace owlet
