// The byte-level alphabet: 256 printable characters, one for each byte, in which vocabularies and merges are spelled.
// Bytes that are printable in Latin-1 stand for themselves, the others take U+0100 and up in byte order, so that a
// space is spelled U+0120. Source: Radford et al. 2019 (GPT-2); the same spelling is used by Hugging Face's ByteLevel.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace owlet {

/// The character that spells a byte.
char32_t alphabet_char(uint8_t byte);

/// The 256 bytes in the order of the characters that spell them; trained vocabularies begin with them in this order.
std::array<uint8_t, 256> bytes_in_alphabet_order();

/// Spells bytes in the alphabet (valid UTF-8).
std::string spell_bytes(std::string_view bytes);

/// The bytes that `spelled` stands for; nothing where it holds a character outside the alphabet or is invalid UTF-8.
std::optional<std::string> unspell_bytes(std::string_view spelled);

}  // namespace owlet
