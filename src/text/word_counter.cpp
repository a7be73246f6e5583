#include "text/word_counter.hpp"

#include <algorithm>
#include <mutex>

#include "base/error.hpp"
#include "base/parallel_for.hpp"

namespace owlet {

namespace {

// Batches end at fixed places of the input, so that thinning out, which happens between batches, is deterministic.
constexpr size_t kBatchBytes = size_t{16} << 20;
// Texts are cut into parts of about this size for the threads.
constexpr size_t kPartBytes = size_t{1} << 18;

bool continues_char(char byte) { return (static_cast<uint8_t>(byte) & 0xC0) == 0x80; }

// Parts of about kPartBytes whose words are those of the whole text.
void append_parts(std::string_view text, const PreTokenizer& splitter, std::vector<std::string_view>& parts) {
  while (text.size() > 2 * kPartBytes) {
    const size_t cut = splitter.safe_cut(text, kPartBytes);
    if (cut >= text.size()) break;
    parts.push_back(text.substr(0, cut));
    text.remove_prefix(cut);
  }
  if (!text.empty()) parts.push_back(text);
}

}  // namespace

struct WordCounter::Partial {
  WordMap<int64_t> counts{1 << 14};
  int64_t num_cut_words = 0;
};

WordCounter::WordCounter(const WordCounterOptions& options)
    : options_(options), splitter_(make_pre_tokenizer(options.splitter)) {
  check(options.max_word_bytes >= 16, ErrorKind::invalid_argument, "max_word_bytes is {}, the least is 16",
        options.max_word_bytes);
}

WordCounter::~WordCounter() = default;

void WordCounter::add_document(std::string_view text) {
  ++num_documents_;
  num_bytes_ += static_cast<int64_t>(text.size());
  if (gathered_.size() + text.size() > kBatchBytes) finish();
  if (text.size() <= kBatchBytes / 2) {
    gathered_.append(text);
    gathered_ends_.push_back(gathered_.size());
    return;
  }
  std::vector<std::string_view> parts, batch;
  append_parts(text, *splitter_, parts);
  size_t batch_bytes = 0;
  for (const std::string_view part : parts) {
    batch.push_back(part);
    batch_bytes += part.size();
    if (batch_bytes < kBatchBytes) continue;
    count_batch(batch);
    batch.clear();
    batch_bytes = 0;
  }
  count_batch(batch);
}

void WordCounter::add_word(std::string_view word, int64_t count) {
  check(count > 0, ErrorKind::invalid_argument, "the count of '{}' is {}, expected at least 1", word, count);
  add_count(word, count);
}

void WordCounter::finish() {
  std::vector<std::string_view> texts;
  const std::string_view all = gathered_;
  size_t begin = 0;
  for (const size_t end : gathered_ends_) {
    append_parts(all.substr(begin, end - begin), *splitter_, texts);
    begin = end;
  }
  count_batch(texts);
  gathered_.clear();
  gathered_ends_.clear();
}

void WordCounter::count_batch(const std::vector<std::string_view>& texts) {
  // A range takes a free table or makes one; sums do not depend on which range went into which table.
  std::vector<std::unique_ptr<Partial>> idle;
  std::mutex mutex;
  const auto count_range = [&](int64_t begin, int64_t end) {
    std::unique_ptr<Partial> partial;
    {
      const std::lock_guard lock(mutex);
      if (!idle.empty()) {
        partial = std::move(idle.back());
        idle.pop_back();
      }
    }
    if (!partial) partial = std::make_unique<Partial>();
    for (int64_t i = begin; i < end; ++i) count_text(texts[static_cast<size_t>(i)], *partial);
    const std::lock_guard lock(mutex);
    idle.push_back(std::move(partial));
  };
  const auto num_texts = static_cast<int64_t>(texts.size());
  parallel_for(num_texts, std::max<int64_t>(1, num_texts / 64), count_range);
  for (const auto& partial : idle) merge(*partial);
  while (is_over_limit()) thin_out();
}

void WordCounter::count_text(std::string_view text, Partial& partial) const {
  const size_t limit = options_.max_word_bytes;
  splitter_->split(text, [&partial, limit](std::string_view word) {
    while (word.size() > limit) {
      size_t cut = limit;
      while (cut > limit - 4 && continues_char(word[cut])) --cut;
      ++partial.counts[word.substr(0, cut)];
      ++partial.num_cut_words;
      word.remove_prefix(cut);
    }
    ++partial.counts[word];
  });
}

void WordCounter::merge(const Partial& partial) {
  partial.counts.for_each([this](std::string_view word, int64_t count) { add_count(word, count); });
  num_cut_words_ += partial.num_cut_words;
}

void WordCounter::add_count(std::string_view word, int64_t count) {
  int64_t& total = counts_[word];
  if (total == 0) distinct_bytes_ += word.size();
  check(!__builtin_add_overflow(total, count, &total), ErrorKind::invalid_argument,
        "the count of '{}' exceeds 64 bits when {} is added", word, count);
}

void WordCounter::forget_words() {
  counts_ = WordMap<int64_t>();
  distinct_bytes_ = 0;
  gathered_ = std::string();
  gathered_ends_ = {};
}

bool WordCounter::is_over_limit() const {
  const size_t needed = training_memory_bytes(counts_.size(), distinct_bytes_);
  return needed > options_.memory_limit_bytes && counts_.size() > 1;
}

void WordCounter::thin_out() {
  int64_t lowest = INT64_MAX;
  counts_.for_each([&](std::string_view, int64_t count) { lowest = std::min(lowest, count); });
  const int64_t threshold = lowest > INT64_MAX / 2 ? INT64_MAX : 2 * lowest - 1;
  const int bit = thinning_rounds_++ % 32;
  WordMap<int64_t> kept;
  size_t kept_bytes = 0;
  counts_.for_each([&](std::string_view word, int64_t count) {
    const bool is_dropped = count <= threshold && (WordMap<int64_t>::hash_of(word) >> bit & 1) != 0;
    if (is_dropped) return;
    kept[word] = count;
    kept_bytes += word.size();
  });
  num_dropped_words_ += static_cast<int64_t>(counts_.size() - kept.size());
  counts_ = std::move(kept);
  distinct_bytes_ = kept_bytes;
}

}  // namespace owlet
