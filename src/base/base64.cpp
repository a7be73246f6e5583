#include "base/base64.hpp"

#include <openssl/evp.h>

#include <climits>

namespace owlet {

std::optional<std::string> decode_base64(std::string_view text) {
  if (text.size() % 4 != 0 || text.size() > INT_MAX) return std::nullopt;
  // The library takes white space at both ends and padding in the middle.
  const size_t num_digits = text.find_last_not_of('=') + 1;
  const size_t num_padding = text.size() - num_digits;
  const std::string_view digits = text.substr(0, num_digits);
  const bool is_plain = digits.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/") ==
                        std::string_view::npos;
  if (!is_plain || num_padding > 2) return std::nullopt;
  std::string bytes(text.size() / 4 * 3, '\0');
  const int size = EVP_DecodeBlock(reinterpret_cast<unsigned char*>(bytes.data()),
                                   reinterpret_cast<const unsigned char*>(text.data()), static_cast<int>(text.size()));
  if (size < 0) return std::nullopt;
  bytes.resize(static_cast<size_t>(size) - num_padding);
  return bytes;
}

}  // namespace owlet
