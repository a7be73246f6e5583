// The first step of byte-pair encoding: a word as the symbols that merging begins with.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "text/flat_map.hpp"
#include "text/tokenizer_definition.hpp"

namespace owlet {

/// Symbols are the bytes of a word, or its characters where the tokenizer is not byte-level. Const methods may be
/// called from several threads at once.
class BpeSymbols {
 public:
  /// `ids` gives the id of each spelling. Throws Error corrupt_file where texts could not be told apart any more: a
  /// byte without a token and no token for what is unknown; or where the unknown token is none.
  BpeSymbols(const TokenizerDefinition& definition, const WordMap<int32_t>& ids);

  /// Whether each byte of a word is one symbol, byte_id() of it.
  bool are_bytes() const { return are_bytes_; }
  int32_t byte_id(char byte) const { return byte_ids_[static_cast<uint8_t>(byte)]; }

  /// Whether some bytes have no token, but only ones that UTF-8 never has (C0, C1, F5..FF): texts are then to be made
  /// valid first.
  bool needs_valid_utf8() const { return needs_valid_utf8_; }

  /// Appends the symbols of a word.
  void append(std::string_view word, std::vector<int32_t>& symbols) const;

 private:
  struct Affixed {  // the ids of a byte by where it stands in the word; -1: none
    int32_t inner = -1, first = -1, last = -1, only = -1;
  };

  void set_byte_ids(const TokenizerDefinition& definition, const WordMap<int32_t>& ids);
  std::string affixed(std::string_view spelled, bool is_first, bool is_last) const;
  int32_t find(std::string_view unit, bool is_first, bool is_last) const;
  bool append_fallback(std::string_view unit, bool is_first, bool is_last, std::vector<int32_t>& symbols) const;

  bool is_byte_level_, fuses_unknown_, falls_back_to_bytes_;
  std::string prefix_, suffix_;
  bool are_bytes_ = false, needs_valid_utf8_ = false;
  std::array<int32_t, 256> byte_ids_{};  // of plain bytes
  std::array<Affixed, 256> affixed_byte_ids_{};
  std::array<int32_t, 256> fallback_ids_{};  // of <0x00>..<0xFF>
  int32_t unknown_id_ = -1;
  WordMap<int32_t> char_ids_;  // of affixed characters
};

}  // namespace owlet
