#include "text/bpe_symbols.hpp"

#include <fmt/format.h>

#include "base/error.hpp"
#include "text/byte_alphabet.hpp"
#include "text/utf8.hpp"

namespace owlet {

namespace {

bool occurs_in_utf8(size_t byte) { return byte < 0xC0 || (byte > 0xC1 && byte < 0xF5); }

std::string spell_byte(size_t byte) {
  const char bytes[1] = {static_cast<char>(byte)};
  return spell_bytes({bytes, 1});
}

}  // namespace

BpeSymbols::BpeSymbols(const TokenizerDefinition& definition, const WordMap<int32_t>& ids)
    : is_byte_level_(definition.is_byte_level),
      fuses_unknown_(definition.fuses_unknown),
      falls_back_to_bytes_(definition.falls_back_to_bytes),
      prefix_(definition.continuing_prefix),
      suffix_(definition.word_suffix) {
  const auto id_of = [&](std::string_view spelling) {
    const int32_t* id = ids.find(spelling);
    return id != nullptr ? *id : -1;
  };
  if (!definition.unknown_token.empty()) {
    unknown_id_ = id_of(definition.unknown_token);
    check(unknown_id_ >= 0, ErrorKind::corrupt_file, "model.unk_token is '{}', which is not in the vocabulary",
          definition.unknown_token);
  }
  for (size_t byte = 0; byte < 256; ++byte) {
    byte_ids_[byte] = is_byte_level_ ? id_of(spell_byte(byte)) : -1;
    fallback_ids_[byte] = id_of(fmt::format("<0x{:02X}>", byte));
  }
  if (is_byte_level_) {
    set_byte_ids(definition, ids);
    return;
  }
  // Characters are looked up with their affixes; the vocabulary's long tokens are of no use here, but harmless.
  for (size_t id = 0; id < definition.vocab.size(); ++id) {
    const std::string& token = definition.vocab[id];
    if (!token.empty() && token.size() <= 4 + prefix_.size() + suffix_.size())
      char_ids_[token] = static_cast<int32_t>(id);
  }
}

void BpeSymbols::set_byte_ids(const TokenizerDefinition& definition, const WordMap<int32_t>& ids) {
  const bool has_affixes = !prefix_.empty() || !suffix_.empty();
  are_bytes_ = !has_affixes;
  for (size_t byte = 0; byte < 256; ++byte) {
    const std::string spelled = spell_byte(byte);
    const auto id_of = [&](bool is_first, bool is_last) {
      const int32_t* id = ids.find(affixed(spelled, is_first, is_last));
      return id != nullptr ? *id : -1;
    };
    affixed_byte_ids_[byte] = {id_of(false, false), id_of(true, false), id_of(false, true), id_of(true, true)};
    const Affixed& entry = affixed_byte_ids_[byte];
    const bool is_missing = entry.inner < 0 || entry.first < 0 || entry.last < 0 || entry.only < 0;
    if (!is_missing) continue;
    const bool is_covered = !definition.unknown_token.empty() || definition.falls_back_to_bytes;
    check(is_covered || !occurs_in_utf8(byte), ErrorKind::corrupt_file,
          "the vocabulary has no token for the byte {} (spelled '{}')", byte, affixed(spelled, false, true));
    if (occurs_in_utf8(byte)) {
      are_bytes_ = false;
    } else {
      needs_valid_utf8_ = true;
    }
  }
}

std::string BpeSymbols::affixed(std::string_view spelled, bool is_first, bool is_last) const {
  std::string text = is_first ? std::string() : prefix_;
  text += spelled;
  if (is_last) text += suffix_;
  return text;
}

int32_t BpeSymbols::find(std::string_view unit, bool is_first, bool is_last) const {
  if (is_byte_level_) {
    const Affixed& entry = affixed_byte_ids_[static_cast<uint8_t>(unit[0])];
    if (is_first) return is_last ? entry.only : entry.first;
    return is_last ? entry.last : entry.inner;
  }
  const bool is_plain = (is_first || prefix_.empty()) && (!is_last || suffix_.empty());
  const int32_t* id = is_plain ? char_ids_.find(unit) : char_ids_.find(affixed(unit, is_first, is_last));
  return id != nullptr ? *id : -1;
}

bool BpeSymbols::append_fallback(std::string_view unit, bool is_first, bool is_last,
                                 std::vector<int32_t>& symbols) const {
  const std::string bytes = affixed(is_byte_level_ ? spell_bytes(unit) : std::string(unit), is_first, is_last);
  for (const char byte : bytes) {
    if (fallback_ids_[static_cast<uint8_t>(byte)] < 0) return false;
  }
  for (const char byte : bytes) symbols.push_back(fallback_ids_[static_cast<uint8_t>(byte)]);
  return true;
}

void BpeSymbols::append(std::string_view word, std::vector<int32_t>& symbols) const {
  if (are_bytes_) {
    for (const char byte : word) symbols.push_back(byte_id(byte));
    return;
  }
  // As in the `tokenizers` package an unknown token waits for the next known symbol, past bytes that fall back.
  bool has_unknown = false;
  const auto flush_unknown = [&] {
    if (has_unknown) symbols.push_back(unknown_id_);
    has_unknown = false;
  };
  for (size_t position = 0; position < word.size();) {
    const size_t length = is_byte_level_ ? 1 : decode_utf8(word, position).num_bytes;
    const std::string_view unit = word.substr(position, length);
    const bool is_first = position == 0, is_last = position + length == word.size();
    position += length;
    const int32_t id = find(unit, is_first, is_last);
    if (id >= 0) {
      flush_unknown();
      symbols.push_back(id);
    } else if (falls_back_to_bytes_ && append_fallback(unit, is_first, is_last, symbols)) {
      continue;
    } else if (unknown_id_ >= 0) {
      if (!fuses_unknown_) flush_unknown();
      has_unknown = true;
    }
  }
  flush_unknown();
}

}  // namespace owlet
