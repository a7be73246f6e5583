// Finds added tokens in a text, before it is split into words.
//
// The matches are those of the `tokenizers` package: the non-normalized tokens are looked for first, then the
// normalized ones in what is left; of the matches that begin leftmost the longest is taken; a match that its flags
// forbid is plain text and is not searched for shorter tokens.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/function_ref.hpp"
#include "text/flat_map.hpp"
#include "text/tokenizer_definition.hpp"

namespace owlet {

/// A stretch of plain text (id -1) or an added token.
struct TextPiece {
  std::string_view text;
  int32_t id = -1;
};

/// Cuts text at added tokens. Const methods may be called from several threads at once.
class AddedTokenMatcher {
 public:
  /// `tokens` must outlive the matcher. `normalize` gives the normalized tokens the form that they have in normalised
  /// text.
  AddedTokenMatcher(std::span<const AddedToken> tokens, FunctionRef<std::string(std::string_view)> normalize);

  /// Whether any token can match with this setting; if not, split() gives the whole text.
  bool can_match(bool parse_special) const { return parse_special ? !tokens_.empty() : has_ordinary_; }

  /// The pieces of a text by the tokens that are not normalized. Plain pieces are never empty. With `parse_special`
  /// false special tokens are plain text.
  std::vector<TextPiece> split_raw(std::string_view text, bool parse_special) const {
    return split_by(raw_, text, parse_special);
  }
  /// The pieces of a plain piece, normalised now, by the tokens that are.
  std::vector<TextPiece> split_normalized(std::string_view text, bool parse_special) const {
    return split_by(normalized_, text, parse_special);
  }

 private:
  // A set of tokens as a trie: node 0 is the root, children by (node, byte).
  struct Match {
    int32_t token;  // index into tokens_, -1: none
    size_t length;  // bytes of the text
  };
  struct Trie {
    PairMap<int32_t> children;
    std::vector<int32_t> token_of_node;  // index into tokens_, -1 for inner nodes
    std::array<bool, 256> starts{};      // bytes that begin a token
    void add(std::string_view content, int32_t token);
    /// The longest token at `position`.
    Match longest_match(std::string_view text, size_t position) const;
  };

  std::vector<TextPiece> split_by(const Trie& trie, std::string_view text, bool parse_special) const;
  bool is_allowed(const AddedToken& token, std::string_view text, size_t begin, size_t end, bool parse_special) const;

  std::span<const AddedToken> tokens_;
  Trie raw_, normalized_;
  bool has_ordinary_ = false;
};

}  // namespace owlet
