#include "text/bpe_encoder.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <optional>

#include "base/error.hpp"
#include "text/byte_alphabet.hpp"
#include "text/monotone_queue.hpp"
#include "text/word_cache.hpp"

namespace owlet {

namespace {

// Up to this number a scan over all pairs is faster than a heap.
constexpr size_t kFewSymbols = 48;

// A number that no other encoder of this process has; never 0.
uint64_t next_encoder_number() {
  static std::atomic<uint64_t> last{0};
  return ++last;
}

WordMap<int32_t> ids_of(const TokenizerDefinition& definition) {
  WordMap<int32_t> ids(definition.vocab.size());
  for (size_t id = 0; id < definition.vocab.size(); ++id) {
    if (!definition.vocab[id].empty()) ids[definition.vocab[id]] = static_cast<int32_t>(id);
  }
  return ids;
}

}  // namespace

BpeEncoder::BpeEncoder(const TokenizerDefinition& definition) : BpeEncoder(definition, ids_of(definition)) {}

BpeEncoder::BpeEncoder(const TokenizerDefinition& definition, const WordMap<int32_t>& ids)
    : number_(next_encoder_number()),
      symbols_(definition, ids),
      merges_(definition.merges.size()),
      whole_words_(definition.vocab.size()) {
  add_merges(definition, ids);
  add_whole_words(definition);
}

void BpeEncoder::add_merges(const TokenizerDefinition& definition, const WordMap<int32_t>& ids) {
  const auto spelling_of = [&](int32_t id, size_t rank) -> const std::string& {
    const auto index = static_cast<size_t>(id);  // negative ids become too large
    check(index < definition.vocab.size() && !definition.vocab[index].empty(), ErrorKind::corrupt_file,
          "merge {} names the id {}, which is no token", rank, id);
    return definition.vocab[index];
  };
  for (size_t rank = 0; rank < definition.merges.size(); ++rank) {
    const auto [left, right] = definition.merges[rank];
    const std::string& end = spelling_of(right, rank);
    const size_t num_dropped = std::min(definition.continuing_prefix.size(), end.size());
    const std::string merged = spelling_of(left, rank) + end.substr(num_dropped);
    const int32_t* result = ids.find(merged);
    check(result != nullptr, ErrorKind::corrupt_file, "merge {} gives '{}', which is not in the vocabulary", rank,
          merged);
    merges_(left, right) = {static_cast<uint32_t>(rank),
                            *result};  // as in the `tokenizers` package the last equal pair counts
  }
}

void BpeEncoder::add_whole_words(const TokenizerDefinition& definition) {
  std::vector<bool> is_special(definition.vocab.size());
  for (const AddedToken& token : definition.added_tokens) {
    const auto index = static_cast<size_t>(token.id);
    if (token.is_special && index < is_special.size()) is_special[index] = true;
  }
  const bool has_affixes = !definition.continuing_prefix.empty() || !definition.word_suffix.empty();
  std::vector<int32_t> merged;
  for (size_t id = 0; id < definition.vocab.size(); ++id) {
    if (definition.vocab[id].empty() || (is_special[id] && definition.ignores_merges)) continue;
    std::optional<std::string> word = definition.vocab[id];
    if (definition.is_byte_level) word = unspell_bytes(*word);
    if (!word) continue;  // no text is spelled so: the token can only be an added one
    merged.clear();
    if (!definition.ignores_merges && !has_affixes) merge_word(*word, merged);
    const bool is_whole = definition.ignores_merges || (merged.size() == 1 && merged[0] == static_cast<int32_t>(id));
    if (is_whole) whole_words_[*word] = static_cast<int32_t>(id);
  }
}

BpeEncoder::Merge BpeEncoder::merge_of(int32_t left, int32_t right) const {
  const Merge* merge = merges_.find(left, right);
  return merge != nullptr ? *merge : Merge{kNoRank, -1};
}

void BpeEncoder::encode_word(std::string_view word, std::vector<int32_t>& ids) const {
  const auto [id, hash] = whole_words_.find_hashed(word);
  if (id != nullptr) {
    ids.push_back(*id);
    return;
  }
  if (word.size() > WordCache::kMaxWordBytes) {
    merge_word(word, ids);
    return;
  }
  WordCache& cache = WordCache::of_this_thread();
  if (cache.append_ids(number_, hash, word, ids)) return;
  const size_t begin = ids.size();
  merge_word(word, ids);
  cache.remember(number_, hash, word, std::span(ids).subspan(begin));
}

void BpeEncoder::merge_word(std::string_view word, std::vector<int32_t>& ids) const {
  if (word.size() <= kFewSymbols && symbols_.are_bytes()) {
    std::array<int32_t, kFewSymbols> symbols;
    for (size_t i = 0; i < word.size(); ++i) symbols[i] = symbols_.byte_id(word[i]);
    const size_t size = merge_few(symbols.data(), word.size());
    ids.insert(ids.end(), symbols.begin(), symbols.begin() + static_cast<ptrdiff_t>(size));
    return;
  }
  const size_t begin = ids.size();
  symbols_.append(word, ids);
  if (ids.size() - begin <= kFewSymbols) {
    ids.resize(begin + merge_few(ids.data() + begin, ids.size() - begin));
  } else {
    merge_many(ids, begin);
  }
}

size_t BpeEncoder::merge_few(int32_t* symbols, size_t size) const {
  std::array<Merge, kFewSymbols> next_merge;  // of symbols i and i + 1
  for (size_t i = 0; i + 1 < size; ++i) next_merge[i] = merge_of(symbols[i], symbols[i + 1]);
  while (size > 1) {
    size_t best = 0;
    for (size_t i = 1; i + 1 < size; ++i) {
      if (next_merge[i].rank < next_merge[best].rank) best = i;
    }
    if (next_merge[best].rank == kNoRank) break;
    symbols[best] = next_merge[best].result;
    std::copy(symbols + best + 2, symbols + size, symbols + best + 1);
    std::copy(next_merge.begin() + static_cast<ptrdiff_t>(best) + 1,
              next_merge.begin() + static_cast<ptrdiff_t>(size) - 1, next_merge.begin() + static_cast<ptrdiff_t>(best));
    --size;
    if (best > 0) next_merge[best - 1] = merge_of(symbols[best - 1], symbols[best]);
    if (best + 1 < size) next_merge[best] = merge_of(symbols[best], symbols[best + 1]);
  }
  return size;
}

// A doubly linked list of symbols and a queue of possible merges, each a rank and a place: the lowest rank comes first,
// of equals the leftmost. Ranks hardly ever fall, since a token is made before it is merged. A merge in the queue that
// is no longer possible at its place has another rank there.
void BpeEncoder::merge_many(std::vector<int32_t>& ids, size_t begin) const {
  struct Symbol {
    int32_t id;
    uint32_t previous, next;
  };
  constexpr uint32_t kNone = ~uint32_t{0};
  check(ids.size() - begin < kNone, ErrorKind::unsupported, "a word of {} symbols, the most is {}", ids.size() - begin,
        kNone - 1);
  const auto size = static_cast<uint32_t>(ids.size() - begin);
  std::vector<Symbol> symbols(size);
  for (uint32_t i = 0; i < size; ++i) {
    symbols[i] = {ids[begin + i], i == 0 ? kNone : i - 1, i + 1 < size ? i + 1 : kNone};
  }
  ids.resize(begin);
  const auto merge_at = [&](uint32_t place) -> Merge {
    const Symbol& left = symbols[place];
    return left.id < 0 || left.next == kNone ? Merge{kNoRank, -1} : merge_of(left.id, symbols[left.next].id);
  };
  MonotoneQueue queue;
  const auto offer = [&](uint32_t place) {
    if (place == kNone) return;
    const Merge merge = merge_at(place);
    if (merge.rank != kNoRank) queue.push(uint64_t{merge.rank} << 32 | place);
  };
  for (uint32_t i = 0; i < size; ++i) offer(i);
  while (!queue.empty()) {
    const uint64_t key = queue.pop();
    const auto place = static_cast<uint32_t>(key);
    const Merge merge = merge_at(place);
    if (merge.rank != key >> 32) continue;
    Symbol& left = symbols[place];
    Symbol& right = symbols[left.next];
    left.id = merge.result;
    right.id = -1;
    left.next = right.next;
    if (left.next != kNone) symbols[left.next].previous = place;
    offer(left.previous);
    offer(place);
  }
  for (uint32_t place = 0; place != kNone; place = symbols[place].next) ids.push_back(symbols[place].id);
}

}  // namespace owlet
