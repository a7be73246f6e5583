// Counts the words of a text, cut as the encoder cuts them, in bounded memory.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "text/flat_map.hpp"
#include "text/pre_tokenizer.hpp"

namespace owlet {

struct WordCounterOptions {
  std::string splitter = "gpt2";
  /// Longer words (text without spaces) are counted in pieces of at most this many bytes.
  size_t max_word_bytes = 1024;
  /// When the words held cost more than this, rare words are thinned out: see WordCounter.
  size_t memory_limit_bytes = size_t{1} << 30;
};

/// Collects 64-bit counts of distinct words on num_threads() threads. The result does not depend on the number of
/// threads.
///
/// Over the memory limit, a half of the words with the lowest counts is dropped, chosen by the hash of the word, so
/// that what stays is a sample of the rare words and all of the frequent ones. One object serves one thread.
class WordCounter {
 public:
  explicit WordCounter(const WordCounterOptions& options);
  ~WordCounter();

  /// Adds a text. Words never span two documents. Short documents are gathered and counted together later.
  void add_document(std::string_view text);
  /// Adds one word as it stands; `count` > 0.
  void add_word(std::string_view word, int64_t count);
  /// Counts what is still gathered; to be called before reading the counts.
  void finish();

  size_t num_distinct_words() const { return counts_.size(); }
  size_t distinct_bytes() const { return distinct_bytes_; }
  int64_t num_documents() const { return num_documents_; }
  int64_t num_bytes() const { return num_bytes_; }
  /// Pieces that come from words longer than the limit.
  int64_t num_cut_words() const { return num_cut_words_; }
  /// Distinct words dropped to stay within the memory limit.
  int64_t num_dropped_words() const { return num_dropped_words_; }

  /// Calls visit(word, count) for every distinct word, in no particular order.
  template <typename Visit>
  void for_each(Visit&& visit) const {
    counts_.for_each(visit);
  }

  /// Gives the memory of the words back; the numbers of documents, bytes and dropped words stay.
  void forget_words();

  /// Estimated bytes that training needs for so many distinct words with so many bytes together.
  static size_t training_memory_bytes(size_t num_words, size_t num_bytes) { return num_words * 96 + num_bytes * 24; }

 private:
  struct Partial;  // what one thread has counted of one batch

  void count_batch(const std::vector<std::string_view>& texts);
  void count_text(std::string_view text, Partial& partial) const;
  void merge(const Partial& partial);
  void add_count(std::string_view word, int64_t count);
  void thin_out();
  bool is_over_limit() const;

  WordCounterOptions options_;
  std::unique_ptr<PreTokenizer> splitter_;
  WordMap<int64_t> counts_;
  size_t distinct_bytes_ = 0;
  std::string gathered_;
  std::vector<size_t> gathered_ends_;
  int64_t num_documents_ = 0, num_bytes_ = 0, num_cut_words_ = 0, num_dropped_words_ = 0;
  int thinning_rounds_ = 0;
};

}  // namespace owlet
