#include "text/added_tokens.hpp"

#include <algorithm>

#include "text/char_class.hpp"
#include "text/utf8.hpp"

namespace owlet {

namespace {

// The begin of the last character of text[0, end); an invalid byte is a character.
size_t previous_char(std::string_view text, size_t end) {
  for (size_t length = 1; length <= 4 && length <= end; ++length) {
    const Utf8Char c = decode_utf8(text.substr(0, end), end - length);
    if (c.is_valid && c.num_bytes == length) return end - length;
  }
  return end - 1;
}

bool is_word_char_at(std::string_view text, size_t position) {
  const Utf8Char c = decode_utf8(text, position);
  return c.is_valid && is_word_char(c.code_point);
}

size_t skip_space_left(std::string_view text, size_t position, size_t least) {
  while (position > least) {
    const size_t previous = previous_char(text, position);
    if (classify_char(text, previous).char_class != CharClass::space) break;
    position = previous;
  }
  return position;
}

size_t skip_space_right(std::string_view text, size_t position) {
  while (position < text.size()) {
    const ClassifiedChar c = classify_char(text, position);
    if (c.char_class != CharClass::space) break;
    position += c.num_bytes;
  }
  return position;
}

}  // namespace

AddedTokenMatcher::AddedTokenMatcher(std::span<const AddedToken> tokens,
                                     FunctionRef<std::string(std::string_view)> normalize)
    : tokens_(tokens) {
  for (size_t i = 0; i < tokens.size(); ++i) {
    const bool is_normalized = tokens[i].is_normalized;
    const std::string content = is_normalized ? normalize(tokens[i].content) : tokens[i].content;
    if (!content.empty()) (is_normalized ? normalized_ : raw_).add(content, static_cast<int32_t>(i));
    has_ordinary_ = has_ordinary_ || !tokens[i].is_special;
  }
}

void AddedTokenMatcher::Trie::add(std::string_view content, int32_t token) {
  if (token_of_node.empty()) token_of_node.push_back(-1);
  int32_t node = 0;
  starts[static_cast<uint8_t>(content[0])] = true;
  for (const char byte : content) {
    int32_t& child = children(node, static_cast<uint8_t>(byte));
    if (child == 0) {
      child = static_cast<int32_t>(token_of_node.size());
      token_of_node.push_back(-1);
    }
    node = child;
  }
  token_of_node[static_cast<size_t>(node)] = token;
}

AddedTokenMatcher::Match AddedTokenMatcher::Trie::longest_match(std::string_view text, size_t position) const {
  int32_t node = 0;
  Match found{-1, 0};
  for (size_t end = position; end < text.size();) {
    const int32_t* child = children.find(node, static_cast<uint8_t>(text[end]));
    if (child == nullptr) break;
    node = *child;
    ++end;
    const int32_t token = token_of_node[static_cast<size_t>(node)];
    if (token >= 0) found = {token, end - position};
  }
  return found;
}

bool AddedTokenMatcher::is_allowed(const AddedToken& token, std::string_view text, size_t begin, size_t end,
                                   bool parse_special) const {
  if (token.is_special && !parse_special) return false;
  if (!token.is_single_word) return true;
  const bool word_before = begin > 0 && is_word_char_at(text, previous_char(text, begin));
  const bool word_after = end < text.size() && is_word_char_at(text, end);
  return !word_before && !word_after;
}

std::vector<TextPiece> AddedTokenMatcher::split_by(const Trie& trie, std::string_view text, bool parse_special) const {
  std::vector<TextPiece> pieces;
  size_t done = 0;  // everything before it stands in `pieces`
  for (size_t position = 0; position < text.size();) {
    const Match match =
        trie.starts[static_cast<uint8_t>(text[position])] ? trie.longest_match(text, position) : Match{-1, 0};
    if (match.token < 0) {
      ++position;
      continue;
    }
    const AddedToken& token = tokens_[static_cast<size_t>(match.token)];
    size_t begin = position, end = position + match.length;
    position = end;
    if (!is_allowed(token, text, begin, end, parse_special)) continue;
    // Two tokens may claim the same white space; the first one has it.
    begin = std::max(token.strips_left ? skip_space_left(text, begin, done) : begin, done);
    if (token.strips_right) end = skip_space_right(text, std::max(end, done));
    if (done < begin) pieces.push_back({text.substr(done, begin - done)});
    pieces.push_back({text.substr(begin, end - std::min(begin, end)), token.id});
    done = std::max(done, end);
  }
  if (done < text.size()) pieces.push_back({text.substr(done)});
  return pieces;
}

}  // namespace owlet
