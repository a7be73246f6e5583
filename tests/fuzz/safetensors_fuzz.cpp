// Any bytes as a safetensors file: read or refused with an Error, nothing else.
#include "base/error.hpp"
#include "formats/safetensors.hpp"
#include "fuzz_file.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t count) {
  const auto path = owlet::fuzz_file(bytes, count, ".safetensors");
  try {
    const owlet::SafetensorsFile file(path);
    uint64_t sum = 0;
    for (const owlet::SafetensorsTensor& tensor : file.tensors()) {
      for (const std::byte byte : tensor.bytes) sum += static_cast<uint64_t>(byte);
    }
    [[maybe_unused]] volatile uint64_t sink = sum;  // keeps the reads
  } catch (const owlet::Error&) {
  }
  return 0;
}
