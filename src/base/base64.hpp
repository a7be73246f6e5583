// Base64 (RFC 4648, section 4) to bytes.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace owlet {

/// The bytes that `text` spells, padding included; nothing where it is no Base64.
std::optional<std::string> decode_base64(std::string_view text);

}  // namespace owlet
