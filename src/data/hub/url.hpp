// Addresses: escaping, redirect targets, and the question whether two addresses are the same server.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace owlet {

/// `text` with every byte outside A–Z a–z 0–9 - . _ ~ as %XX (RFC 3986); '/' stays as it is where `keeps_slashes`.
std::string percent_encode(std::string_view text, bool keeps_slashes);
/// The reverse; nothing where an escape is cut off or malformed.
std::optional<std::string> percent_decode(std::string_view text);

/// Scheme, host (lower case) and port of an http or https address, for example "https://huggingface.co:443". Throws
/// Error invalid_argument for anything else, user names and passwords in the address included.
std::string origin_of(const std::string& url);
/// True for addresses that answer on this computer only: localhost, 127.x.x.x, [::1].
bool is_loopback(const std::string& url);
/// Where a Location header leads that came as an answer for `url`: relative ones are resolved (RFC 3986 section 5).
/// Throws Error io for what is no http(s) address or leaves https for http.
std::string redirect_target(const std::string& url, const std::string& location);

}  // namespace owlet
