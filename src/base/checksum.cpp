#include "base/checksum.hpp"

#include <zlib.h>

namespace owlet {

uint32_t crc32(std::span<const std::byte> bytes, uint32_t previous) {
  if (bytes.empty()) return previous;  // zlib reads a null pointer as a request for the initial value
  return static_cast<uint32_t>(::crc32_z(previous, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

}  // namespace owlet
