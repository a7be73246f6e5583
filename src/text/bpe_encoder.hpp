// Byte-pair encoding of single words: the merge of highest rank first, wherever it stands (Sennrich, Haddow, Birch
// 2016).
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "text/bpe_symbols.hpp"
#include "text/flat_map.hpp"
#include "text/tokenizer_definition.hpp"

namespace owlet {

/// Turns words into ids. Time is n log n in the length of a word. Const methods may be called from several threads at
/// once.
class BpeEncoder {
 public:
  /// Throws Error corrupt_file where a byte has no token (see BpeSymbols), a merge names an unknown id, or its result
  /// is no token.
  explicit BpeEncoder(const TokenizerDefinition& definition);

  /// Appends the ids of one word. Special tokens are never produced from the bytes of a word.
  void encode_word(std::string_view word, std::vector<int32_t>& ids) const;
  /// Appends the symbols of `text` without merging.
  void encode_symbols(std::string_view text, std::vector<int32_t>& ids) const { symbols_.append(text, ids); }
  /// Whether words must be valid UTF-8.
  bool needs_valid_utf8() const { return symbols_.needs_valid_utf8(); }

 private:
  struct Merge {
    uint32_t rank = 0;
    int32_t result = -1;
  };
  static constexpr uint32_t kNoRank = ~uint32_t{0};

  BpeEncoder(const TokenizerDefinition& definition, const WordMap<int32_t>& ids);
  void add_merges(const TokenizerDefinition& definition, const WordMap<int32_t>& ids);
  void add_whole_words(const TokenizerDefinition& definition);
  Merge merge_of(int32_t left, int32_t right) const;
  void merge_word(std::string_view word, std::vector<int32_t>& ids) const;
  size_t merge_few(int32_t* symbols, size_t size) const;
  void merge_many(std::vector<int32_t>& ids, size_t begin) const;

  uint64_t number_;  // marks this encoder's entries in the threads' caches; copies are equal, so they share it
  BpeSymbols symbols_;
  PairMap<Merge> merges_;
  WordMap<int32_t> whole_words_;  // words that become one token: one lookup instead of merging
};

}  // namespace owlet
