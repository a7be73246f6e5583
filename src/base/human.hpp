// Quantities as people read them.
#pragma once

#include <cstdint>
#include <string>

namespace owlet {

/// Bytes in decimal units with two to three digits: "0 B", "999 B", "1.5 GB", "24 GB", "128 GB".
std::string format_bytes(uint64_t bytes);
/// A count: "512", "15.2 k", "15.2 M", "1.1 B" (thousand million), "2.5 T".
std::string format_count(double count);
/// A time span: "0.25 s", "12 s", "3 min 07 s", "2 h 05 min", "3 d 04 h"; "unknown" when negative or not finite.
std::string format_duration(double seconds);

}  // namespace owlet
