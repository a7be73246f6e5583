// Checksums of file contents (zlib's CRC-32). They detect damage, not forgery.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace owlet {

/// CRC-32 (ISO-HDLC, as in zlib) of `bytes`, continuing from `previous`; the empty input has value 0.
uint32_t crc32(std::span<const std::byte> bytes, uint32_t previous = 0);

}  // namespace owlet
